import { parentStepKey } from '../../../run-model/step-tree.ts'
import { contentText } from '../../../views/content-text.ts'
import { formatDuration, formatIdentifier, pluralize } from '../../../views/format-amount.ts'
import type { TimelineMark } from '../../../views/timeline/timeline-mark.ts'
import type { ReviewerInput } from '../contracts.ts'
import { reviewerInput } from '../contracts.ts'
import type { BuildEvent, Phase } from '../events.ts'
import { describeCheck } from '../verification/check.ts'
import type { BuildEventOf, BuildProgress } from './build-progress.ts'
import { mergedTasks } from './build-progress.ts'
import type { BuildRecord } from './session-file.ts'

/* What the events of a build mean on a timeline. */

interface BuildMarksState {
  record: BuildRecord
  progress: BuildProgress
}

export function buildMarks(state: BuildMarksState, event: BuildEvent): TimelineMark[] {
  switch (event.type) {
    case 'build:start': {
      const { base, base_branch, notes } = event.data
      return [progress(`builds on ${base_branch ?? 'a detached HEAD'}, ${base.slice(0, 10)}`), ...notes.map(note)]
    }
    case 'build:phase':
      return [{ kind: 'phase', title: phaseTitle(event.data) }]
    case 'build:check': {
      const { stage, duration_ms, ...check } = event.data
      const when = stage === 'baseline' ? 'before the work: ' : ''
      const glyph = check.status === 'passed' ? '✓' : '✗'
      const text = `${glyph} ${when}${describeCheck({ ...check, duration_ms })} (${formatDuration(duration_ms)})`
      return [progress(text), ...(state.progress.plan ? [progressMark(state.progress)] : [])]
    }
    case 'build:plan': {
      const tasks = event.data.plan.tasks.map(({ task_id, title }) => `${task_id} ${title}`)
      return [progress(`plan: ${tasks.join('; ') || 'no tasks'}`), progressMark(state.progress)]
    }
    case 'build:decision':
      return [note(`${event.data.task_id}: ${event.data.decision}: ${event.data.reason}`)]
    case 'build:task_start':
      return taskMarks(state.progress, event)
    case 'build:task_end': {
      const { output } = event.data
      const session = attemptSession(state.progress, output.task_id)
      return session === undefined ? [] : [{ kind: 'session', session, result: output.summary }]
    }
    case 'build:merge':
      return [progress(`${event.data.task_id} merged`), progressMark(state.progress)]
    case 'build:review':
      return reviewMarks(event)
    case 'build:message':
      return [messageMark(state, event)]
    case 'build:scope_violation': {
      const { task_id, files } = event.data
      return [note(`${task_id} changed files outside its scope, which was undone: ${files.join(', ')}`)]
    }
    case 'build:conflict':
      return [note(`Merge conflict of ${event.data.task_id}: ${event.data.files.join(', ')}`)]
    default:
      return []
  }
}

const PHASE_TITLES: Readonly<Record<Phase, string>> = {
  receive: 'Receive',
  analyse: 'Analyse',
  plan: 'Plan',
  delegate: 'Build',
  collect: 'Collect',
  review: 'Review',
  iterate: 'Iterate',
  complete: 'Complete',
}

function phaseTitle({ phase, iteration }: { phase: Phase; iteration: number }): string {
  if (phase === 'review') return `Review ${iteration}`
  if (phase === 'delegate' && iteration > 1) return `Fix, round ${iteration}`
  return iteration > 1 && phase !== 'complete' ? `${PHASE_TITLES[phase]}, round ${iteration}` : PHASE_TITLES[phase]
}

function progressMark(progress: BuildProgress): TimelineMark {
  const { merged, text } = mergedTasks(progress)
  const count = progress.plan?.tasks.length ?? 0
  return { kind: 'progress', text, share: count === 0 ? null : merged / count }
}

/** The session of a task, and the tasks that it waited for. */
function taskMarks(progress: BuildProgress, { data }: BuildEventOf<'build:task_start'>): TimelineMark[] {
  const { task_id, session_key, iteration } = data
  const task = findTask(progress, task_id)
  const title = taskTitle(progress, task_id)
  const dependencies = (task?.dependencies ?? []).flatMap((dependency): TimelineMark[] => {
    const from_session = attemptSession(progress, dependency.task_id)
    if (from_session === undefined) return []
    return [{ kind: 'dependency', from_session, to_session: session_key, label: `needs ${dependency.task_id}` }]
  })
  // Tasks of one round are one group, because they run in parallel.
  const group = (progress.plan?.tasks.length ?? 0) > 1 ? { group: `tasks, round ${iteration}` } : undefined
  return [{ kind: 'session', session: session_key, title, ...group }, ...dependencies]
}

function findTask({ plan }: BuildProgress, task_id: string) {
  return plan?.tasks.find((each) => each.task_id === task_id)
}

/** `T1 Compute the changes`. */
function taskTitle(progress: BuildProgress, task_id: string): string {
  return `${task_id} ${findTask(progress, task_id)?.title ?? ''}`.trim()
}

function attemptSession({ attempts }: BuildProgress, task_id: string): string | undefined {
  return attempts.get(task_id)?.at(-1)?.session_key
}

/** The reviewer's session is titled by its result. */
function reviewMarks({ data }: BuildEventOf<'build:review'>): TimelineMark[] {
  const { verdict, findings, summary } = data.output
  const title = verdict === 'approved' && findings.length === 0 ? 'approved' : pluralize(findings.length, 'finding')
  const result = summary === '' ? formatIdentifier(verdict) : `${formatIdentifier(verdict)}: ${summary}`
  const place = parentStepKey(data.key)
  return ['session', 'again'].map((name) => ({ kind: 'session', session: `${place}/${name}`, title, result }))
}

/** A message; an instance of an agent has the lane of its session. */
function messageMark({ record, progress }: BuildMarksState, { data }: BuildEventOf<'build:message'>): TimelineMark {
  const { from_agent, to_agent, message_type, related_task_id } = data
  const sessionOf = (agent: typeof from_agent) => {
    if (agent.instance_id === undefined) return undefined
    const known = [...record.developers].findLast(([, { agent_id }]) => agent_id === agent.agent_id)?.[0]
    return known ?? attemptSession(progress, related_task_id ?? '')
  }
  const nameOf = (agent: typeof from_agent) => (agent.instance_id === undefined ? agent.agent_id : agent.agent_type)
  const [from_session, to_session] = [sessionOf(from_agent), sessionOf(to_agent)]
  return {
    kind: 'message',
    type: message_type,
    text: messageText(progress, data),
    from: nameOf(from_agent),
    to: nameOf(to_agent),
    ...(from_session === undefined ? undefined : { from_session }),
    ...(to_session === undefined ? undefined : { to_session }),
  }
}

function messageText(
  progress: BuildProgress,
  { message_type, content, related_task_id = '' }: BuildEventOf<'build:message'>['data'],
): string {
  if (message_type === 'acknowledgment') return `Starts ${taskTitle(progress, related_task_id)}`
  const text = contentWords(content)
  return message_type === 'status_update' ? `${taskTitle(progress, related_task_id)}: ${text}` : text
}

function contentWords(content: unknown): string {
  const { task_description, verdict, findings } = (content ?? {}) as Record<string, unknown>
  if (typeof task_description === 'string') return task_description
  const request = reviewerInput.safeParse(content)
  if (request.success) return reviewRequestText(request.data)
  if (typeof verdict !== 'string' || !Array.isArray(findings)) return contentText(content)
  const count = findings.length === 0 ? '' : `, ${pluralize(findings.length, 'finding')}`
  return `${formatIdentifier(verdict)}${count}: ${contentText(content)}`
}

/** `Review 3 files for security; the tests must pass`. */
function reviewRequestText({ review_scope: { files, focus_areas = [] }, criteria }: ReviewerInput): string {
  const focus = focus_areas.length === 0 ? '' : ` for ${focus_areas.join(', ')}`
  const required = [
    ...(criteria.must_pass_tests ? ['the tests'] : []),
    ...(criteria.must_pass_type_check ? ['the type check'] : []),
  ]
  const passes = required.length === 0 ? '' : `; ${required.join(' and ')} must pass`
  return `Review ${pluralize(files.length, 'file')}${focus}${passes}`
}

function progress(text: string): TimelineMark {
  return { kind: 'progress', text, share: null }
}

function note(text: string): TimelineMark {
  return { kind: 'notice', notice: 'note', text }
}
