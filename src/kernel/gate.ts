/** A question to a human that a run waits for. All open gates together are the inbox. */
export interface Gate {
  key: string
  gate_id: string
  question: string
  /** When given, the answer is one of these. */
  choices?: string[]
  /** Who asks, for the person who reads it. */
  asked_by?: string
  detail?: unknown
}

export interface GateAnswer {
  key: string
  gate_id: string
  answer: unknown
  by: string
}

export interface Question {
  question: string
  choices?: string[]
  detail?: unknown
}
