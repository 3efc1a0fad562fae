import { createContext, useContext } from 'react'

/** The position of an agent among the lanes of the run: it decides the colour of its monogram. */
export type AgentIndex = (label: string) => number

/** Without lanes (the inbox) the name alone decides, so that an agent keeps its colour. */
export function indexFromName(label: string): number {
  let sum = 0
  for (const character of label) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 9973
  return sum % 12
}

export const AgentIndexContext = createContext<AgentIndex>(indexFromName)

export function useAgentIndex(): AgentIndex {
  return useContext(AgentIndexContext)
}
