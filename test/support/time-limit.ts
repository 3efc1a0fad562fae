import { availableParallelism, loadavg } from 'node:os'

/** A limit for what hangs. It grows with the load of the machine, so that it does not end what is only slow. */
export function timeLimit(ms: number): number {
  const [load = 0] = loadavg()
  return Math.round(ms * Math.max(1, load / availableParallelism()))
}
