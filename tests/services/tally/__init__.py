"""An app with one kind of job, "tally", that is done after one chunk."""
