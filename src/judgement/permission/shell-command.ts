export interface ShellWord {
  /** Without quotes; of an opaque word whatever can be seen. */
  text: string
  opaque: boolean
}

export interface Redirection {
  operator: string
  target: ShellWord
}

export interface ShellCommand {
  words: ShellWord[]
  redirections: Redirection[]
  /** What here-documents give it to read. */
  stdin: string[]
  /** Its output is what the next one reads. */
  piped: boolean
}

export interface ShellLine {
  commands: ShellCommand[]
  fullyParsed: boolean
  /** Why the list of commands is not all that happens; absent where it is. */
  unsupportedSyntax?: string
}
