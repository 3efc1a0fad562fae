import type { LoadedConfig } from '../../index.ts'
import { toInertJson } from './inert-output.ts'
import type { Terminal } from './terminal.ts'

/** The values of shared options: those of a group that a command does not take are missing. */
export interface CommonOptions {
  json?: boolean
  quiet?: boolean
  store?: string
  project?: string
  /** Uses the configuration of the project, whoever wrote it. */
  trustProject?: boolean
  agents?: string
  model?: string
  mcpConfig?: string
  /** Environment variables exposed to MCP servers of agent files. */
  exposeEnv?: string[]
  limit?: string[]
  workspace?: string
  tools?: boolean
  sandbox?: boolean
  readable?: string[]
  allowHost?: string[]
  allow?: string[]
  ask?: string[]
  deny?: string[]
  durability?: 'normal' | 'full' | 'relaxed'
  record?: string
  replay?: string
}

/** Context of a command. */
export interface Cli<Own extends object = object> {
  terminal: Terminal
  options: CommonOptions & Own
  /** The configuration of the project and the user; `undefined` without one. */
  config?: LoadedConfig | undefined
  /** The store that the user's own configuration names with an absolute path. */
  userStore?: string | undefined
  /** The folder of the project's configuration, if that is not trusted and so not used. */
  refusedFolder?: string | undefined
  /** The command executes runs. */
  executes?: boolean
  /** The files that the run is configured by, such as a team file: its own agents must not write them. */
  sourceFiles?: string[]
  /** Whether agent files of the project may be used, once that is known. */
  usesProjectAgents?: boolean
}

/** The configuration that a command uses. */
export type CommandConfig = Pick<Cli, 'config' | 'userStore' | 'refusedFolder'>

/** Prints a value as one line of JSON on stdout. */
export function printJson({ terminal }: Cli, value: unknown): void {
  terminal.print(toInertJson(value))
}
