import { delimiter, dirname, join } from 'node:path'

/*
 * The variables of a sandboxed command, set when it is inside. Nothing else of this process's environment reaches it: that
 * is where keys are.
 */

const INHERITED_VARIABLES = ['LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'CI', 'NO_COLOR', 'NODE_ENV']
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

export interface PrivateFolders {
  home: string
  temporary: string
}

export function sandboxEnvironment(
  readable: readonly string[],
  folders: PrivateFolders,
  added: Readonly<Record<string, string>>,
): Record<string, string> {
  const kept = INHERITED_VARIABLES.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(kept),
    PATH: visiblePath(readable),
    HOME: folders.home,
    TMPDIR: folders.temporary,
    SHELL: '/bin/bash',
    TERM: 'dumb',
    // The settings of the machine and its user are not ours to use, and not there to be read.
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: gitConfigPath(folders),
    GIT_TERMINAL_PROMPT: '0',
    npm_config_update_notifier: 'false',
    ...added,
  }
}

/** The folders of `PATH` that can be seen from inside. */
function visiblePath(readable: readonly string[]): string {
  const seen = (process.env.PATH ?? '').split(delimiter).filter((folder) => {
    if (folder === dirname(process.execPath)) return true
    return folder.startsWith('/') && readable.some((root) => folder === root || folder.startsWith(`${root}/`))
  })
  const all = new Set([...seen, ...DEFAULT_PATH.split(':')])
  return [...all].join(':')
}

export function gitConfigPath({ home }: PrivateFolders): string {
  return join(home, '.gitconfig')
}

/** Enough for commits to work; the repository's own settings come before it. */
export const GIT_CONFIG = `[user]
	name = Troupe agent
	email = agent@troupe.invalid
[safe]
	directory = *
[init]
	defaultBranch = main
`
