/** A message of a multi-agent trace, whichever program recorded it. */
export interface TraceMessage {
  agent: string
  /** The agent it is addressed to, if the trace says so. */
  to?: string
  /** `plan` starts over, `thought` is seen by nobody else, `person` is a human being; `call` and `result` are of a tool. */
  kind: 'message' | 'plan' | 'thought' | 'person' | 'call' | 'result'
  text: string
}

/** A suspected loop, with the messages it rests on. */
export interface LoopFinding {
  kind: 'repeated_work' | 'repeated_step' | 'repeated_call' | 'alternation'
  /** Position of the message at which the loop shows, from 0. */
  at: number
  /** Positions of the earlier messages that are repeated. */
  evidence: readonly number[]
  agent: string
  message: string
}
