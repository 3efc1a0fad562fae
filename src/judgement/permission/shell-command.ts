/** `NAME=value`, `NAME+=value` or `NAME[index]=value`. */
export const ASSIGNMENT = /^\w+(\[[^\]]*\])?\+?=/

export interface ShellWord {
  /** Without quotes; for an opaque word its visible part. */
  text: string
  /** The value depends on variables, file names or other expansions. */
  opaque: boolean
}

/** A word of which nothing is known. */
export const UNKNOWN_WORD: ShellWord = { text: '', opaque: true }

export interface Redirection {
  operator: string
  target: ShellWord
}

export interface ShellCommand {
  words: ShellWord[]
  redirections: Redirection[]
  /** Bodies of its here-documents. */
  stdin: string[]
  /** Its output is piped into the next command. */
  piped: boolean
}

export interface ShellLine {
  commands: ShellCommand[]
  fullyParsed: boolean
  /** Why `commands` may not cover everything the line does; absent when it does. */
  unsupportedSyntax?: string
}
