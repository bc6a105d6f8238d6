// Keeping out of the way when CharMem does not answer.

const FIRST_QUIET = 30_000;
const LONGEST_QUIET = 300_000;

// A gate that shuts for 30 s after a failure and twice as long after each further one, up to five minutes.
export function quietly(now = () => Date.now()) {
    let shutUntil = 0;
    let quiet = FIRST_QUIET;
    return {
        isOpen: () => now() >= shutUntil,
        open() {
            shutUntil = 0;
            quiet = FIRST_QUIET;
        },
        shut() {
            if (now() < shutUntil) return;
            shutUntil = now() + quiet;
            quiet = Math.min(quiet * 2, LONGEST_QUIET);
        },
    };
}

// True when `work` ended within `milliseconds`; else it goes on by itself and nobody waits for it.
export function withinTime(work, milliseconds) {
    return Promise.race([
        work.then(() => true),
        new Promise((resolve) => setTimeout(() => resolve(false), milliseconds)),
    ]);
}
