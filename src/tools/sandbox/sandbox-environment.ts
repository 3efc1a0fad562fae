import { delimiter, dirname, join } from 'node:path'

/*
 * The environment of a sandboxed command. Prevents environment leakage: only listed variables of this process are passed
 * on, because its environment contains API keys.
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
  extra: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = INHERITED_VARIABLES.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(inherited),
    PATH: visiblePath(readable),
    HOME: folders.home,
    TMPDIR: folders.temporary,
    SHELL: '/bin/bash',
    TERM: 'dumb',
    // The git config of the host is not visible inside.
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: gitConfigPath(folders),
    GIT_TERMINAL_PROMPT: '0',
    npm_config_update_notifier: 'false',
    ...extra,
  }
}

/** The folders of `PATH` that are visible inside. */
function visiblePath(readable: readonly string[]): string {
  const visible = (process.env.PATH ?? '').split(delimiter).filter((folder) => {
    if (folder === dirname(process.execPath)) return true
    return folder.startsWith('/') && readable.some((root) => folder === root || folder.startsWith(`${root}/`))
  })
  const folders = new Set([...visible, ...DEFAULT_PATH.split(':')])
  return [...folders].join(':')
}

export function gitConfigPath({ home }: PrivateFolders): string {
  return join(home, '.gitconfig')
}

/** Enough for commits to work; the repository's own config takes precedence. */
export const GIT_CONFIG = `[user]
	name = Troupe agent
	email = agent@troupe.invalid
[safe]
	directory = *
[init]
	defaultBranch = main
`
