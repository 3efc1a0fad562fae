import { parentStepKey } from '../../../run-model/step-tree.ts'
import { formatDuration, pluralize } from '../../../views/format-amount.ts'
import type { ProgressLine, SessionFacts, SessionLabel, SessionLookup, TextLine } from '../../../views/pattern-view.ts'
import { definePatternView } from '../../../views/pattern-view.ts'
import { STATUS_GLYPHS } from '../../../views/status-glyphs.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { BuildEvent } from '../events.ts'
import type { BuildMessage, StatusUpdate } from '../messages.ts'
import type { BuildOutput } from '../output.ts'
import { describeCheck, describeChecks } from '../verification/check.ts'
import { buildMarks } from './build-marks.ts'
import type { BuildProgress } from './build-progress.ts'
import { newBuildProgress, reduceBuildProgress } from './build-progress.ts'
import { planPanels } from './plan-panel.ts'
import type { BuildRecord } from './session-file.ts'
import { buildSessionFile, newBuildRecord, reduceBuildRecord } from './session-file.ts'

/** The tasks of developers, by the key of their session. */
interface BuildView {
  tasks: Map<string, string>
  record: BuildRecord
  progress: BuildProgress
}

/** The view of a build: its plan, developers, checks, merges and reviews while it runs, and its result. */
export const buildView = definePatternView<BuildView, BuildEvent>({
  initial: () => ({ tasks: new Map(), record: newBuildRecord(), progress: newBuildProgress() }),
  reduce(view, event) {
    if (event.type === 'build:task_start') view.tasks.set(event.data.session_key, event.data.task_id)
    reduceBuildRecord(view.record, event)
    reduceBuildProgress(view.progress, event)
    return view
  },
  progress: (_view, event, sessions) => buildProgress(event, sessions),
  session: (view, session) => buildSession(view, session),
  timeline: buildMarks,
  panels: planPanels,
  lines: (_view, { output, width }) => (isBuildOutput(output) ? resultLines(output, width) : []),
  outputText: (output) => (isBuildOutput(output) ? output.report : undefined),
  sessionFile: buildSessionFile,
})

const PURPOSES: readonly [RegExp, string][] = [
  [/(?:^|\/)plans\/[^/]+(?:\/[^/]+)?\/(?:session|correction)$/, 'plans the work'],
  [/(?:^|\/)review\/\d+\/(?:session|again)$/, 'reviews the merged work'],
  [/(?:^|\/)merges\/.*\/session$/, 'resolves a merge conflict'],
  [/\/failure$/, 'decides about a failed task'],
  [/(?:^|\/)complete\/report$/, 'writes the report'],
]

function buildSession({ tasks }: BuildView, { key }: SessionFacts): SessionLabel | undefined {
  const task = tasks.get(key)
  const known = PURPOSES.find(([pattern]) => pattern.test(key))?.[1]
  const purpose = task === undefined ? known : `works on ${toTerminalLine(task)}`
  return purpose === undefined ? undefined : { purpose, start: ['starts  ', ['dim', purpose]] }
}

function buildProgress(event: BuildEvent, sessions: SessionLookup): ProgressLine | undefined {
  const spans = progressSpans(event)
  if (!spans) return undefined
  const speaker = { agent: '', depth: sessions.depth(parentStepKey(event.data.key)) }
  return { speaker, spans, ...(event.type === 'build:start' ? { notes: event.data.notes } : undefined) }
}

const GREEN = `${STATUS_GLYPHS.completed?.[1] ?? ''} `
const RED = `${STATUS_GLYPHS.failed?.[1] ?? ''} `

function progressSpans(event: BuildEvent): TextLine | undefined {
  switch (event.type) {
    case 'build:start': {
      const { base, base_branch } = event.data
      return [`builds on ${toTerminalLine(base_branch ?? 'a detached HEAD')}`, ['dim', `  ${base.slice(0, 10)}`]]
    }
    case 'build:check':
      return checkSpans(event.data)
    case 'build:plan': {
      const tasks = event.data.plan.tasks.map(({ task_id, title }) => toTerminalLine(`${task_id} ${title}`))
      return ['plan: ', ['dim', tasks.join('; ') || 'no tasks']]
    }
    case 'build:scope_violation': {
      const { task_id, files } = event.data
      return [
        ['red', RED],
        `${task_id} changed files outside its scope, which was undone: ${toTerminalLine(files.join(', '))}`,
      ]
    }
    case 'build:conflict':
      return [['yellow', 'merge conflict '], `${event.data.task_id}: ${toTerminalLine(event.data.files.join(', '))}`]
    case 'build:merge':
      return [['green', GREEN], `${event.data.task_id} merged`]
    case 'build:message':
      return statusSpans(event.data)
    case 'build:decision':
      return [`${event.data.task_id}: ${event.data.decision}  `, ['dim', toTerminalLine(event.data.reason)]]
    case 'build:review': {
      const { verdict, findings, summary } = event.data.output
      const facts = `review ${event.data.iteration}: ${verdict}, ${pluralize(findings.length, 'finding')}  `
      return [facts, ['dim', toTerminalLine(summary)]]
    }
    default:
      return undefined
  }
}

/** Changes of state that no other event shows. */
function statusSpans({ message_type, content, related_task_id }: BuildMessage): TextLine | undefined {
  if (message_type !== 'status_update') return undefined
  const { state, summary } = content as StatusUpdate
  if (state === 'merged') return undefined
  return [['yellow', `${related_task_id ?? 'review'} `], toTerminalLine(summary)]
}

type CheckData = Extract<BuildEvent, { type: 'build:check' }>['data']

function checkSpans({ stage, ...check }: CheckData): TextLine {
  const facts = toTerminalLine(describeCheck(check))
  const glyph = check.status === 'passed' ? (['green', GREEN] as const) : (['red', RED] as const)
  const when = stage === 'baseline' ? 'before the work: ' : ''
  return [glyph, `${when}${facts}`, ['dim', `  ${formatDuration(check.duration_ms)}`]]
}

function isBuildOutput(output: unknown): output is BuildOutput {
  return typeof output === 'object' && output !== null && 'report' in output && 'merge_rounds' in output
}

function resultLines(
  { status, branch, approved_by, checks, changes, notes, iterations }: BuildOutput,
  width: number,
): TextLine[] {
  const files = Object.values(changes).reduce((sum, paths) => sum + paths.length, 0)
  const rounds = iterations === 0 ? '' : `  ${pluralize(iterations, 'round')}`
  const wrapped = (text: string) => wrapText(toTerminalLine(text), width, 2)
  return [
    [['bold', status], `${rounds}${approved_by === null ? '' : `, approved by ${approved_by}`}`],
    ...(branch === null ? [] : [[`branch ${branch}  `, ['dim', pluralize(files, 'file')]] as const]),
    ...(branch === null ? [] : branchHints(branch).flatMap(wrapped)).map((text): TextLine => [['dim', text]]),
    ...describeChecks(checks.final, checks.baseline)
      .flatMap(wrapped)
      .map((text): TextLine => [text]),
    ...notes.flatMap((note) => wrapped(`note: ${note}`)).map((text): TextLine => [['yellow', text]]),
  ]
}

function branchHints(branch: string): string[] {
  return [`see it with: git diff HEAD...${branch}`, `keep it with: git merge ${branch}`]
}
