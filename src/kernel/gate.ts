/** A question to a person that a run waits for (human-in-the-loop). The inbox lists all open gates. */
export interface Gate {
  key: string
  gate_id: string
  question: string
  /** If set, the answer must be one of these. */
  choices?: string[]
  /** The agent that asks. */
  asked_by?: string
  /** The source of that agent's definition: a file or a model. Absent for an agent of the program, and in permission questions, whose `detail` has it. */
  agent_from?: string
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
