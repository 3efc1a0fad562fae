import type { LoopVerdict } from '../../judgement/loop.ts'
import { resultFingerprint } from '../../judgement/loop.ts'
import { USER } from '../../judgement/team/team-schema.ts'
import type { CompletedTurn, HandoffDecision } from './decide-handoff.ts'
import type { HumanChoice } from './human-questions.ts'
import { askUntilValid, parseHumanChoice } from './human-questions.ts'
import type { TurnResult } from './member-turn.ts'
import type { TeamPlan } from './team-plan.ts'
import type { TeamState } from './team-state.ts'
import { resetLoopDetection } from './team-state.ts'

/**
 * Watches for work that goes in circles. The supervisor is asked first, if it is no person; then a person, who lets the
 * team go on, sends the work elsewhere, or stops it. Nothing goes round silently, and the handover says who decided.
 */
export async function guardLoop(
  floor: TeamState,
  { from, spoken }: CompletedTurn,
  handover: HandoffDecision,
): Promise<HandoffDecision> {
  const { context, plan, round, loopDetector } = floor
  const { to } = handover
  if (to === null || to === USER) return handover
  // Words of a person are always something new.
  if (spoken.lines.some(({ person }) => person)) resetLoopDetection(floor)
  const verdict = loopDetector.add({ from, to, result: turnFingerprint(floor, spoken) })
  if (verdict.ok) return handover
  const { kind, message } = verdict
  context.emit(`stuck/${round}`, 'team:loop', { round, kind, message, from, to })
  const { supervisor } = plan.team
  if (supervisor !== undefined && isAgent(plan, supervisor) && !floor.supervisorConsulted && to !== supervisor) {
    floor.supervisorConsulted = true
    return { ...handover, to: supervisor, by: 'supervisor', reason: `${message}: to ${supervisor} instead of ${to}` }
  }
  const choice = await askAboutLoop(floor, verdict, { from, to })
  resetLoopDetection(floor)
  if (choice.do === 'stop') return { ...handover, to: null, by: 'person', reason: `${message}: a person stopped it` }
  if (choice.do === 'override') {
    const reason = `${message}: a person chose ${choice.agent} over ${to}`
    return { ...handover, to: choice.agent, by: 'person', reason }
  }
  return { ...handover, problems: [...handover.problems, `${message}: a person let it go on`] }
}

function turnFingerprint({ context, round }: TeamState, { text, variables }: TurnResult): string {
  const written = context.artifactsUnder(`round/${round}`).map(({ name, checksum }) => [name, checksum])
  const artifacts = Object.fromEntries(written) as Record<string, string>
  return resultFingerprint({ text, variables: Object.fromEntries(variables), artifacts })
}

type DetectedLoop = Extract<LoopVerdict, { ok: false }>

async function askAboutLoop(
  { context, plan, round }: TeamState,
  { kind, message, moves }: DetectedLoop,
  move: { from: string; to: string },
): Promise<HumanChoice> {
  // A long way is no circle.
  const what = kind === 'max_rounds' ? 'The team has come to its limit' : 'The team goes in circles'
  return askUntilValid(context, `stuck/${round}/person`, {
    question: {
      question: `${what}: ${message}. Answer continue (to ${move.to}), stop, or who goes on instead.`,
      detail: {
        ...{ kind: 'loop', loop: kind, ...move, moves: moves.map(({ from, to }) => `${from} → ${to}`) },
        ...{ takes: ['continue', 'override'], answers: ['continue', 'stop', ...plan.names] },
      },
    },
    read: (answer) => {
      const choice = parseHumanChoice(answer, plan.names)
      return choice?.do === 'step' ? undefined : choice
    },
  })
}

/** A person is asked what to do about the loop, not what to do next. */
function isAgent(plan: TeamPlan, name: string): boolean {
  return plan.names.includes(name) && plan.member(name).kind !== 'human'
}
