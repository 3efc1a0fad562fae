import type { RunHost } from '../judgement/needs/run-needs.ts'
import type { Event } from '../kernel/event.ts'
import type { Ports } from '../kernel/ports.ts'

/** The ports of the kernel, the process that executes runs with them, and the observers of their events (`onEvent` of hooks). */
export interface EnginePorts extends Ports {
  host: RunHost
  observers?: readonly ((event: Event) => void)[]
}
