import type { ChildProcess } from 'node:child_process'

/** Resource limits of one command. */
export interface SandboxLimits {
  /** CPU seconds per process. */
  cpu_s: number
  /** Memory of all processes together, with files in scratch folders, and the data segment of each. */
  memory_mb: number
  processes: number
  /** Maximum size of a written file. */
  file_mb: number
  open_files: number
  /** Size of each private tmpfs folder (scratch folder). */
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
  /** Additional folders that commands can read. */
  read?: readonly string[]
  /** Additional folders that commands can write. */
  write?: readonly string[]
  /** Additional environment variables. Of this process's environment only a few harmless variables are passed on. */
  env?: Readonly<Record<string, string>>
  limits?: Partial<SandboxLimits>
}

/** Access of one server beyond the sandbox that it shares with commands. Paths are absolute or relative to the workspace. */
export interface SandboxAccess {
  /** Files and folders it can read. */
  read?: readonly string[]
  /** Folders it can write. */
  write?: readonly string[]
  /** Hosts it can reach through the proxy: names, or `*.name` for subdomains. */
  hosts?: readonly string[]
}

export interface SpawnRequest {
  /** A shell command, or a program with its arguments. */
  command: string | readonly [program: string, ...args: string[]]
  /** Relative to the workspace. Default: the workspace root. */
  cwd?: string
  env?: Readonly<Record<string, string>>
  /** `false` makes the workspace read-only. Default: true. */
  write?: boolean
  /** For servers that run for hours: they get stricter write protection. */
  longRunning?: true
  stdin?: 'ignore' | 'pipe'
  access?: SandboxAccess
}

export interface ProcessExit {
  code: number | null
  signal: string | null
  /** The limit that the process exceeded, if any. */
  limit?: 'memory' | 'processes'
  /** Notes about repairs in the workspace after the exit. */
  repairs?: readonly string[]
}

/** A process in a sandbox. `kill` kills the whole process tree. */
export interface SandboxedProcess {
  child: ChildProcess
  ended: Promise<ProcessExit>
  kill(): void
  /** For servers: marks the start of a call. The returned function ends it and returns notes about repairs. */
  beginWork?(): () => readonly string[]
}

export interface Sandbox {
  kind: SandboxReport['kind']
  spawn(request: SpawnRequest): Promise<SandboxedProcess>
  /** Whether a path of the machine can be read inside. */
  isVisible?(path: string, access?: SandboxAccess): boolean
  /** Releases shared resources such as the proxy. */
  close(): Promise<void>
}

/** Whether sandboxing works on this machine. */
export interface SandboxReport {
  kind: 'bubblewrap' | 'none'
  available: boolean
  /** Reasons why it is not available, with what to install. */
  problems: string[]
  /** Warnings that apply even if it works. */
  notes: string[]
}
