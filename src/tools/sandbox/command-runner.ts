import type { PatternPart } from '../../kernel/pattern-part.ts'

/*
 * The command runner port: commands of Troupe itself, such as a test run, in the sandbox that agents' commands have. They get no terminal
 * and no input, and what they print is bounded.
 */

export interface CommandRequest {
  /** The folder that it runs in, such as `workspace` of a worktree. */
  workspace: string
  /** A shell command. */
  command: string
  timeout_ms: number
  /** Characters of the output that are kept: its end. */
  max_output_chars: number
}

export interface CommandOutcome {
  /** `killed`: by a signal, or because it exceeded the memory or the number of processes. */
  status: 'exited' | 'timeout' | 'killed'
  exit_code: number | null
  /** Why it was killed, and notes about repairs in the workspace. */
  notes: string[]
  /** The end of what it printed. */
  output: string
  omitted_chars: number
  duration_ms: number
}

export interface CommandRunner extends PatternPart<'commands'> {
  /** Runs a command to its end. An abort kills it and rejects. */
  run(request: CommandRequest, signal?: AbortSignal): Promise<CommandOutcome>
}
