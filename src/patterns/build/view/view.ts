import type { SessionFacts, SessionLabel } from '../../../views/pattern-view.ts'
import { definePatternView } from '../../../views/pattern-view.ts'
import type { BuildEvent } from '../events.ts'
import { buildMarks } from './build-marks.ts'
import type { BuildProgress } from './build-progress.ts'
import { newBuildProgress, reduceBuildProgress } from './build-progress.ts'
import { isBuildOutput, planPanels } from './plan-panel.ts'
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
  session: (view, session) => buildSession(view, session),
  timeline: buildMarks,
  panels: planPanels,
  outputText: (output) => (isBuildOutput(output) ? output.report : undefined),
  sessionFile: buildSessionFile,
})

const REVIEWS = 'reviews the merged work'

const PURPOSES: readonly [RegExp, string][] = [
  [/(?:^|\/)plans\/[^/]+(?:\/[^/]+)?\/(?:session|correction)$/, 'plans the work'],
  [/(?:^|\/)review\/\d+\/(?:session|again)$/, REVIEWS],
  [/(?:^|\/)merges\/.*\/session$/, 'resolves a merge conflict'],
  [/\/failure$/, 'decides about a failed task'],
  [/(?:^|\/)complete\/report$/, 'writes the report'],
]

function buildSession({ tasks }: BuildView, { key }: SessionFacts): SessionLabel | undefined {
  const task = tasks.get(key)
  const known = PURPOSES.find(([pattern]) => pattern.test(key))?.[1]
  const purpose = task === undefined ? known : `works on ${task}`
  // The end of its task, or the review, tells its completion.
  const isTold = task !== undefined || purpose === REVIEWS
  return purpose === undefined ? undefined : { purpose, ...(isTold ? { marked: 'end' as const } : undefined) }
}
