"""What is worth remembering of the chats, from the first message read to the line in a prompt.

All modules stand in one folder, so that each is found under its own name. `name*` is a verb with the steps behind it.

* texts (pure): `blocks` the memory file as text · `formats*` foreign notes · `transcript` `plain_text` `markup` chats
  · `templating` `prompts/` · `answer` what a model said · `names` `grounding` `evidence` what a memory is based on
  · `quality*` whether it is worth keeping · `similarity` `pairs` `cues` `superseding` which memories meet
  · `meaning*` what they mean, by vectors
  · `grouping` `conservation` what became of which
  · `merge` `outside_merge` `orders` `word_diff` `two_texts` two sides of a text · `reading` `lineage` what was read
  · `quote_*` quotes in messages · `date_span` `story_dates` days · `file_names` `price`
* reading chats: `extraction*` `extract_choice` `batch_*` · `known_choice` `injected` what a prompt holds
  · `held*` `doubts` `gate_counts` what is doubted
  · `group_*` `presence` `member*` who is there · `together*` one call for all · `wanted` `reading_limits` which part
  · `reading_start` `reading_keys` · `watermark` how far · `unread` how much is left · `reset_cost` what it will cost
  · `automatic*` reads by itself · `choices` `chosen` `choosing` what a person chose for it · `day_budget`
  · `scope*` `sharing` `lines` which file it goes into · `activity*` its log · `events`
* the memory file: `memory_file` the one way to change it · `file_editor` `file_state` `outlines` `revisions` `wordings`
  · `takeover` `outside_text` edits made outside · `write_back` `mirrored` into Data Banks · `layout*` its form
* changed by hand: `editing` `locking` `pinning` `copying` one thing at once · `find_replace` `replacing`
  · `drafts` `draft_*` `merge_page` an edit of many steps · `trash*`
* changed by a model and reviewed: `proposals` `proposal_turn` · `consolidation*` · `conversion*` · `again*` a stretch
* looked after: `review*` `source_changes` queues · `ancestors` `ancestry` what was replaced · `forgetting` `chat_hold`
* taken along: `export*` `importing_export*` · `migration*` `charmemory_state` from the CharMemory extension
* prompts of one's own: `own_prompts` `prompt_*` · `try_*`
* shown: `queries` `page_queries` · `dashboard` `first_day` `first_steps` `wizard` `last_backup` `prompts_seen` home
  · `character_*` `chat_*` `find_mark` the reader
  · `memory_list` `memory_filters` `evidence_page` `history_page` `timeline*` `search_*`
  · `health` · `model_probe` what a test of a model asks · `spending_subjects` · `forms` `extraction_forms` `local_time`
* wired: `apps` `urls` `routes/` `views/` `models/` `management/` `templatetags/`
"""
