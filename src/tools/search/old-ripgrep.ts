import { SKIPPED_NAMES } from './walk.ts'

/*
 * Before version 14, ripgrep hides what a `.rgignore` names although it is told to mind no such file: whoever can write
 * one could hide files from those who review. Where there is one, such a ripgrep is not used.
 */

/** Runs ripgrep in the place to be searched, and returns what it prints. */
type Ask = (args: readonly string[]) => Promise<string>

/** Whether this ripgrep would hide files here. The age is asked for once. */
export function oldRipgrep(): (ask: Ask) => Promise<boolean> {
  let old: Promise<boolean> | undefined
  return async (ask) => {
    old ??= ask(['--version']).then((text) => Number(/^ripgrep (\d+)\./.exec(text)?.[1] ?? 0) < 14)
    // What could not be asked is asked again.
    old.catch(() => {
      old = undefined
    })
    return (await old) && (await ask(OWN_IGNORE_FILES)) !== ''
  }
}

const OWN_IGNORE_FILES = [
  ...['--no-config', '--files', '--hidden', '--no-ignore', '--no-follow', '--no-messages', '--glob=.rgignore'],
  ...SKIPPED_NAMES.map((name) => `--glob=!${name}`),
]
