import type { RunHost } from '../judgement/needs/run-needs.ts'
import type { Ports } from '../kernel/ports.ts'

/** The ports of the kernel, and the process that executes runs with them. */
export interface EnginePorts extends Ports {
  host: RunHost
}
