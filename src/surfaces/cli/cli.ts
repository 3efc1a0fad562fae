import type { Terminal } from './terminal.ts'

/** Options that every command takes. */
export interface CommonOptions {
  json?: boolean
  quiet?: boolean
  store?: string
  project?: string
  agents?: string
  model?: string
  /** A file with MCP servers. */
  mcpConfig?: string
  /** Variables that MCP servers of agent files may use. */
  lend?: string[]
  limit?: string[]
  /** Where agents work; `tools` is there for commands that let them. */
  workspace?: string
  tools?: boolean
  sandbox?: boolean
  readable?: string[]
  allowHost?: string[]
  allow?: string[]
  ask?: string[]
  deny?: string[]
  durability?: 'normal' | 'full'
  /** A cassette to record on, or to play. */
  record?: string
  replay?: string
}

/** What a command gets to work with. */
export interface Cli<Own extends object = object> {
  terminal: Terminal
  options: CommonOptions & Own
}

/** Prints an object for programs. */
export function printJson({ terminal }: Cli, value: unknown): void {
  terminal.print(JSON.stringify(value))
}
