import type { BuildScope } from '../build-scope.ts'
import { identify } from '../build-scope.ts'
import type { DeveloperOutput, PlannedTask, PreviousAttempt } from '../contracts.ts'
import { failureDecisions } from '../contracts.ts'
import type { AgentConversation } from '../messages.ts'
import type { FailureDecision } from '../output.ts'
import { failureAnswer, failurePrompt } from '../prompts/architect-prompts.ts'
import { askAgent } from './ask-agent.ts'

export interface FailedAttempt {
  task: PlannedTask
  agent: string
  attempt: number
  output: DeveloperOutput
  attempts: readonly PreviousAttempt[]
  conversation: AgentConversation
  key: string
}

/** The architect decides from a structured report whether a task is tried again, by whom, or given up. Every decision is recorded. */
export async function decideFailure(scope: BuildScope, failed: FailedAttempt): Promise<FailureDecision> {
  const { context, config } = scope
  const decision =
    failed.attempt >= config.max_attempts ? attemptsUsed(scope, failed) : await askArchitect(scope, failed)
  context.emit(`${failed.key}/decision`, 'build:decision', decision)
  scope.decisions.push(decision)
  const { task, agent, conversation } = failed
  const to = identify(scope, agent, conversation.id)
  const type = decision.decision === 'abort' ? 'abort' : 'feedback'
  conversation.send({ from: identify(scope, config.architect), to, type, content: decision, task_id: task.task_id })
  return decision
}

function attemptsUsed({ config }: BuildScope, { task, attempt }: FailedAttempt): FailureDecision {
  const reason = `${attempt} attempts were made, and \`max_attempts\` is ${config.max_attempts}`
  return { task_id: task.task_id, attempt, decision: 'abort', reason, decided_by: 'max_attempts' }
}

async function askArchitect(
  scope: BuildScope,
  { task, agent, attempt, output, attempts, key }: FailedAttempt,
): Promise<FailureDecision> {
  const { agents, config, input } = scope
  const report = JSON.stringify({ task, agent, attempt, output, previous_attempts: attempts.slice(0, -1) })
  const { value, text, error } = await askAgent(scope, {
    key: `${key}/failure`,
    agent: { ...agents.architect, tools: [] },
    prompt: failurePrompt({ request: input.request, report, developers: agents.developers }),
    answer: failureAnswer,
    allowText: true,
  })
  const decided = value?.decision ?? decisionInText(text)
  const facts = { task_id: task.task_id, attempt, decided_by: config.architect }
  if (decided === undefined) {
    const cause = error?.message ?? 'no decision could be read'
    return { ...facts, decision: 'retry', reason: `retried by default: ${cause}` }
  }
  const instruction = value?.instruction ?? null
  const other = agents.developers.find(({ name }) => name === value?.agent)?.name
  const isReassigned = decided === 'reassign' && other !== undefined
  return {
    ...facts,
    // Without another agent to give it to, the same one tries again.
    decision: decided === 'reassign' && !isReassigned ? 'retry' : decided,
    ...(isReassigned ? { agent: other } : undefined),
    ...(instruction === null ? undefined : { instruction }),
    reason: value?.reason || 'no reason given',
  }
}

function decisionInText(text: string): FailureDecision['decision'] | undefined {
  return failureDecisions.find((word) => new RegExp(`\\b${word}\\b`, 'i').test(text))
}
