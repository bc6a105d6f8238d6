// CharMem inside SillyTavern: registers memory files in the character's Data Bank, from within the page.
//
// Only the page may add to the Data Bank: settings.json is written whole by whichever tab saves last, so an entry that
// is added from outside is lost. This module asks CharMem what is waiting when the page loads, when a chat is opened,
// when somebody comes back to the tab, now and then while it is looked at, and before each answer. It sends no chat
// text except the Data Bank part of a prompt, to say which memories were in.
//
// A server that is slow or down must not be felt: an answer waits WAIT ms for it, then not again for a while (calm.js).
// Once CharMem has answered, registering is work inside this page and may take up to WORK ms.

import { quietly, withinTime } from './calm.js';

const WAIT = 250;
const WORK = 1500;
const LOOK_EVERY = 20_000;
const PROMPT_KEY = '4_vectors_data_bank';
const SEEN_BEFORE = 'charmem-files';

const gate = quietly();
const context = () => globalThis.SillyTavern.getContext();
const settingsFile = new URL('charmem.json', import.meta.url);
let address = null;

// Where CharMem is and how to be known there; written beside this file when it was installed.
async function whereCharMemIs() {
    address ??= await (await fetch(settingsFile, { cache: 'no-store' })).json();
    return address;
}

async function tell(path, body) {
    const { api, token } = await whereCharMemIs();
    const answer = await fetch(`${api}${path}`, {
        method: 'POST',
        credentials: 'omit',
        signal: AbortSignal.timeout(10000),
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`CharMem answered ${answer.status}`);
    return answer.json();
}

// SillyTavern 1.12 does not offer everything in its context yet.
async function extensionSettings() {
    return context().extensionSettings ?? (await import('/scripts/extensions.js')).extension_settings;
}

async function saveSettings() {
    const save = context().saveSettingsDebounced ?? (await import('/script.js')).saveSettingsDebounced;
    save();
}

function currentAvatar() {
    const { characters, characterId } = context();
    return characters?.[characterId]?.avatar ?? '';
}

// The browser keeps the first copy of a Data Bank file for ever unless it is told to fetch it again.
async function refresh(url) {
    const answer = await fetch(url, { cache: 'reload' });
    await answer.arrayBuffer();
    return answer.ok;
}

function remembered() {
    try {
        return JSON.parse(localStorage.getItem(SEEN_BEFORE)) ?? {};
    } catch {
        return {};
    }
}

async function refreshChanged(files) {
    const known = remembered();
    const changed = files.filter((file) => known[file.url] !== file.hash);
    for (const file of changed) {
        if (await refresh(file.url)) known[file.url] = file.hash;
    }
    if (changed.length) localStorage.setItem(SEEN_BEFORE, JSON.stringify(known));
}

// False for a file that cannot be fetched: registering a missing file would break the whole Data Bank.
async function register({ avatar, ...entry }, all) {
    if (!(await refresh(entry.url))) return false;
    const list = (all[avatar] ??= []);
    const old = list.find((one) => one.url === entry.url);
    if (old) Object.assign(old, { name: entry.name, size: entry.size });
    else list.push(entry);
    return true;
}

// What is offered is not in settings.json, even if this page has it: another tab saved over it. So it is saved again.
async function registerAll(waiting) {
    const all = ((await extensionSettings()).character_attachments ??= {});
    const done = [];
    for (const wanted of waiting) {
        if (await register(wanted, all)) done.push({ url: wanted.url, name: wanted.name, size: wanted.size });
    }
    if (!done.length) return;
    await saveSettings();
    tell('done/', { registered: done }).catch(failed);
}

async function apply({ register: waiting = [], files = [] }) {
    if (waiting.length) await registerAll(waiting);
    await refreshChanged(files);
}

function failed(problem) {
    gate.shut();
    console.warn('CharMem was not reached:', String(problem));
}

// Ask for what is waiting and do it; `answered` is told as soon as CharMem has said something. Never throws.
async function ask(reason, answered = () => {}) {
    try {
        const answer = await tell('pending/', { reason, avatar: currentAvatar() });
        gate.open();
        answered(true);
        await apply(answer);
    } catch (problem) {
        failed(problem);
        answered(false);
    }
}

function look() {
    if (document.visibilityState === 'visible' && gate.isOpen()) void ask('look');
}

async function reportPrompt({ dryRun } = {}) {
    const text = context().extensionPrompts?.[PROMPT_KEY]?.value;
    if (dryRun || !text || !gate.isOpen()) return;
    try {
        await tell('seen/', { avatar: currentAvatar(), text });
    } catch (problem) {
        failed(problem);
    }
}

globalThis.charmemBeforeGeneration = async (_chat, _size, _abort, type) => {
    if (type === 'quiet' || !gate.isOpen()) return;
    let work;
    const answer = new Promise((resolve) => {
        work = ask('generation', resolve);
    });
    if (await withinTime(answer, WAIT)) await withinTime(work, WORK);
    else gate.shut();
};

const { eventSource, eventTypes, event_types: oldEventTypes } = context();
const types = eventTypes ?? oldEventTypes;
eventSource.on(types.CHAT_CHANGED, () => void ask('chat'));
eventSource.on(types.CHAT_COMPLETION_PROMPT_READY, (data) => void reportPrompt(data));
// Text completion has its whole prompt here; for chat completion it is empty at this point.
eventSource.on(types.GENERATE_AFTER_COMBINE_PROMPTS, (data) => void (data?.prompt && reportPrompt(data)));
if (types.APP_READY) eventSource.on(types.APP_READY, () => void ask('load'));
else void ask('load');
document.addEventListener('visibilitychange', look);
setInterval(look, LOOK_EVERY);
