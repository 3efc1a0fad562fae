import type { ChildProcess } from 'node:child_process'

/** What one command may use at the most. */
export interface SandboxLimits {
  /** Processor seconds of each process. */
  cpu_s: number
  /** Memory of all processes together, and what one of them may ask for. */
  memory_mb: number
  processes: number
  /** The largest file that may be written. */
  file_mb: number
  open_files: number
  /** What may be kept in the private folders that vanish with the command. */
  scratch_mb: number
}

export const DEFAULT_SANDBOX_LIMITS: SandboxLimits = {
  cpu_s: 600,
  memory_mb: 4096,
  processes: 512,
  file_mb: 1024,
  open_files: 4096,
  scratch_mb: 512,
}

export interface SandboxOptions {
  /** More folders that commands may read, beside the workspace and the system's programs. */
  read?: readonly string[]
  /** More folders that commands may write. */
  write?: readonly string[]
  /** More variables for commands. Nothing is taken over from this process but a few harmless ones. */
  env?: Readonly<Record<string, string>>
  limits?: Partial<SandboxLimits>
}

export interface SpawnRequest {
  /** A command for the shell, or a program with its arguments. */
  command: string | readonly [program: string, ...args: string[]]
  /** Below the workspace; its root unless given. */
  cwd?: string
  env?: Readonly<Record<string, string>>
  /** `false`: the workspace can only be read. */
  write?: boolean
  /** True for a program that waits for questions, perhaps for hours: it may write less. */
  longRunning?: true
  stdin?: 'ignore' | 'pipe'
}

export interface ProcessExit {
  code: number | null
  signal: string | null
  /** The limit that ended it, if one did. */
  limit?: 'memory' | 'processes'
  /** What had to be put right in the workspace afterwards. */
  repairs?: readonly string[]
}

/** A program at work in a sandbox. `kill` ends it with everything it started. */
export interface SandboxedProcess {
  child: ChildProcess
  ended: Promise<ProcessExit>
  kill(): void
  /** Of a program that serves: it gets to work. What is returned ends that, and says what had to be put right. */
  beginWork?(): () => readonly string[]
}

export interface Sandbox {
  kind: SandboxReport['kind']
  spawn(request: SpawnRequest): Promise<SandboxedProcess>
  /** Gives up what is kept for commands to come. */
  close(): Promise<void>
}

/** What can be said about sandboxing on this machine. */
export interface SandboxReport {
  kind: 'bubblewrap' | 'none'
  available: boolean
  /** Why not, with what to do about it. */
  problems: string[]
  /** What a reader should know even if it works. */
  notes: string[]
}
