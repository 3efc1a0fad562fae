import type { HandoffResult, LoopVerdict } from '../../judgement/loop/handoff-loop.ts'
import { handoffResult } from '../../judgement/loop/handoff-loop.ts'
import { USER } from '../../judgement/team/team-schema.ts'
import type { CompletedTurn, HandoffDecision } from './decide-handoff.ts'
import type { HumanChoice } from './human-questions.ts'
import { askUntilValid, parseHumanChoice } from './human-questions.ts'
import type { TurnResult } from './member-turn.ts'
import type { TeamPlan } from './team-plan.ts'
import type { TeamState } from './team-state.ts'
import { resetLoopDetection } from './team-state.ts'

/**
 * Loop detection for handoffs. A detected loop goes to the supervisor first, if it is an agent, then to a person, who
 * continues, redirects or stops the team.
 */
export async function guardLoop(
  state: TeamState,
  { from, result }: CompletedTurn,
  handoff: HandoffDecision,
): Promise<HandoffDecision> {
  const { context, plan, round, loop } = state
  const { to } = handoff
  if (to === null || to === USER) return handoff
  // A human answer is always progress.
  if (result.messages.some(({ person }) => person)) resetLoopDetection(state)
  const verdict = loop.detector.add({ from, to, result: comparableResult(state, result) })
  if (verdict.ok) return handoff
  const { kind, message } = verdict
  context.emit(`stuck/${round}`, 'team:loop', { round, kind, message, from, to })
  const { supervisor } = plan.team
  if (supervisor !== undefined && isAgent(plan, supervisor) && !loop.supervisorConsulted && to !== supervisor) {
    loop.supervisorConsulted = true
    return { ...handoff, to: supervisor, by: 'supervisor', reason: `${message}: to ${supervisor} instead of ${to}` }
  }
  const choice = await askAboutLoop(state, verdict, { from, to })
  resetLoopDetection(state)
  if (choice.do === 'stop') return { ...handoff, to: null, by: 'person', reason: `${message}: a person stopped it` }
  if (choice.do === 'override') {
    const reason = `${message}: a person chose ${choice.agent} over ${to}`
    return { ...handoff, to: choice.agent, by: 'person', reason }
  }
  return { ...handoff, problems: [...handoff.problems, `${message}: a person chose to continue`] }
}

function comparableResult({ context, round }: TeamState, { text, variables }: TurnResult): HandoffResult {
  const checksums = context.artifactsUnder(`round/${round}`).map(({ name, checksum }) => [name, checksum])
  const artifacts = Object.fromEntries(checksums) as Record<string, string>
  return handoffResult({ text, variables: Object.fromEntries(variables), artifacts })
}

type DetectedLoop = Extract<LoopVerdict, { ok: false }>

async function askAboutLoop(
  { context, plan, round }: TeamState,
  { kind, message, moves }: DetectedLoop,
  move: { from: string; to: string },
): Promise<HumanChoice> {
  const title = kind === 'max_rounds' ? 'The team has reached its limit' : 'The team is in a loop'
  return askUntilValid(context, `stuck/${round}/person`, {
    question: {
      question: `${title}: ${message}. Answer continue (to ${move.to}), stop, or the name of another member.`,
      detail: {
        ...{ kind: 'loop', loop: kind, ...move, moves: moves.map(({ from, to }) => `${from} → ${to}`) },
        ...{ takes: ['continue', 'override'], answers: ['continue', 'stop', ...plan.names] },
      },
    },
    parse: (answer) => {
      const choice = parseHumanChoice(answer, plan.names)
      return choice?.do === 'step' ? undefined : choice
    },
  })
}

/** A human supervisor gets the question about the loop instead of a turn. */
function isAgent(plan: TeamPlan, name: string): boolean {
  return plan.names.includes(name) && plan.member(name).kind !== 'human'
}
