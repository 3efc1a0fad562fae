import type { Panel, PanelBlock, PanelFact, PanelStep } from '../../../views/panel.ts'
import type { FactEntry } from '../../../views/panel-blocks.ts'
import { presentFacts, tableBlock, textBlock } from '../../../views/panel-blocks.ts'
import type { PanelScope } from '../../../views/pattern-view.ts'
import type { BuildOutput } from '../output.ts'
import { describeChecks } from '../verification/check.ts'
import type { BuildProgress } from './build-progress.ts'
import { isMerged, mergedTasks, taskState, waitsFor } from './build-progress.ts'
import { reviewBlocks } from './review-blocks.ts'

/* The plan of a build and what became of it: tasks, merges, checks and review rounds. */

export function planPanels({ progress }: { progress: BuildProgress }, { output }: PanelScope): readonly Panel[] {
  if (!progress.start) return []
  const { phase, reviews } = progress
  const badge = reviews.length > 0 ? `review ${reviews.length}` : phase?.phase
  return [
    {
      id: 'plan',
      title: 'Plan and review',
      ...(badge === undefined ? undefined : { badge }),
      blocks: [
        { kind: 'facts', facts: [...buildFacts(progress), ...resultFacts(output)] },
        ...resultCheckBlocks(output),
        ...planBlocks(progress),
        ...reviewBlocks(progress),
        ...checkBlocks(progress),
        ...mergeBlocks(progress),
        ...changedFileBlocks(progress),
        ...reportBlocks(progress, output),
      ],
    },
  ]
}

function buildFacts(progress: BuildProgress): PanelFact[] {
  const { start, phase, end, plan_answer, escalations, plan } = progress
  return presentFacts([
    end
      ? ['result', end.status, '', end.status === 'completed' ? 'good' : 'attention']
      : ['phase', phase && `${phase.phase}, round ${phase.iteration}`],
    ['base', `${start?.base_branch ?? 'detached HEAD'} ${start?.base.slice(0, 10) ?? ''}`, 'code'],
    ['merged', plan && mergedTasks(progress).text],
    ['plan', plan_answer],
    ...escalations.map(({ action, answer }): FactEntry => {
      return ['escalation', answer === undefined ? action : `${action}: ${answer}`, '', 'attention']
    }),
    ['branch', end?.branch ?? undefined, 'code'],
    ['commit', end?.head?.slice(0, 10), 'code'],
    ...(start?.notes ?? []).map((note): FactEntry => ['note', note, '', 'attention']),
  ])
}

/** Who accepted the result, and how to take it over. */
function resultFacts(output: unknown): PanelFact[] {
  if (!isBuildOutput(output)) return []
  const { iterations, approved_by, branch, changes } = output
  return presentFacts([
    ['rounds', iterations === 0 ? undefined : iterations, 'count'],
    ['approved by', approved_by ?? undefined],
    ...(branch === null
      ? []
      : ([
          ['files', Object.values(changes).flat().length, 'count'],
          ['see it with', `git diff HEAD...${branch}`, 'code'],
          ['keep it with', `git merge ${branch}`, 'code'],
        ] as const)),
  ])
}

/** The checks of the result; one that had failed before is no fault of the work. */
function resultCheckBlocks(output: unknown): PanelBlock[] {
  if (!isBuildOutput(output)) return []
  const { final, baseline } = output.checks
  return textBlock({ title: 'Checks of the result' }, describeChecks(final, baseline).join('\n'))
}

function planBlocks(progress: BuildProgress): PanelBlock[] {
  const { plan, plan_notes } = progress
  if (!plan) return []
  const steps = plan.tasks.map(({ task_id }) => taskStep(progress, task_id))
  return [
    ...textBlock({ title: 'Plan', claimed_by: 'architect' }, plan.no_change_reason ?? plan.summary),
    ...plan_notes.flatMap((text) => textBlock({ title: 'Note' }, text)),
    ...(steps.length === 0 ? [] : [{ kind: 'steps' as const, title: 'Tasks', steps }]),
    ...taskTable(progress),
  ]
}

/** A task with its attempts below it. */
function taskStep(progress: BuildProgress, task_id: string): PanelStep {
  const task = progress.plan?.tasks.find((each) => each.task_id === task_id)
  const attempts = progress.attempts.get(task_id) ?? []
  const waiting = waitsFor(progress, task_id)
  const last = attempts.at(-1)
  const notes = [
    ...(waiting.length === 0 ? [] : [`waits for ${waiting.join(', ')}`]),
    ...(last?.output && isMerged(progress, task_id, last.iteration) ? ['merged'] : []),
  ]
  return {
    title: `${task_id} ${task?.title ?? ''}`.trim(),
    state: taskState(progress, task_id),
    agent: last?.agent ?? task?.agent ?? '',
    ...(notes.length === 0 ? undefined : { note: notes.join(', ') }),
    steps: attempts.map(({ iteration, attempt, agent, output }) => ({
      title: `Attempt ${attempt}, round ${iteration}`,
      state: output?.status ?? (progress.end ? 'cancelled' : 'running'),
      agent,
      ...attemptNote(progress, { task_id, attempt, iteration }, output?.summary),
    })),
  }
}

/** What came of an attempt: what the developer says, files out of scope, and the decision after a failure. */
function attemptNote(
  { violations, decisions }: BuildProgress,
  { task_id, attempt, iteration }: { task_id: string; attempt: number; iteration: number },
  summary: string | undefined,
): { note?: string } {
  const outside = violations.filter((each) => each.task_id === task_id && each.iteration === iteration)
  const decision = decisions.find((each) => each.task_id === task_id && each.attempt === attempt)
  const notes = [
    ...(summary === undefined ? [] : [summary]),
    ...outside.map(({ files }) => `changed files outside its scope, which was undone: ${files.join(', ')}`),
    ...(decision ? [`${decision.decision}: ${decision.reason}`] : []),
  ]
  return notes.length === 0 ? {} : { note: notes.join('; ') }
}

function taskTable(progress: BuildProgress): PanelBlock[] {
  const head = { title: 'Scope and dependencies', detail: true, empty: 'The plan has no tasks.' } as const
  const attemptsOf = (task_id: string) => progress.attempts.get(task_id) ?? []
  const changesOf = (task_id: string) => attemptsOf(task_id).findLast(({ output }) => output)?.output?.changes
  return tableBlock(head, progress.plan?.tasks ?? [], {
    id: ['Task id', ({ task_id }) => task_id, 'code'],
    title: ['Title', ({ title }) => title],
    state: ['State', ({ task_id }) => taskState(progress, task_id), 'state'],
    developer: ['Developer', ({ task_id, agent }) => attemptsOf(task_id).at(-1)?.agent ?? agent, 'agent'],
    priority: ['Priority', ({ priority }) => priority],
    scope: ['May change', ({ scope }) => scope.join(', '), 'code'],
    needs: ['Needs', (task) => task.dependencies.map((each) => `${each.task_id} (${each.kind})`).join(', ') || null],
    attempts: ['Attempts', ({ task_id }) => attemptsOf(task_id).length, 'count'],
    files: ['Files changed', ({ task_id }) => changedFiles(changesOf(task_id)), 'count'],
  })
}

function changedFiles(changes: object | undefined): number | undefined {
  return changes && Object.values(changes).flat().length
}

function checkBlocks({ checks }: BuildProgress): PanelBlock[] {
  const baseline = new Map(checks.filter(({ stage }) => stage === 'baseline').map((check) => [check.name, check]))
  const failing = checks.findLast(({ status, output }) => status === 'failed' && output !== '')
  return [
    ...tableBlock({ title: 'Checks', detail: true }, checks, {
      when: ['When', ({ stage, iteration }) => (stage === 'baseline' ? 'before the work' : `round ${iteration}`)],
      name: ['Check', ({ name }) => name],
      command: ['Command', ({ command }) => command, 'code'],
      state: ['Result', ({ status }) => status, 'state'],
      before: [
        'Before the work',
        ({ stage, name }) => (stage === 'baseline' ? null : baseline.get(name)?.status),
        'state',
      ],
      tests: ['Tests', ({ tests }) => tests && `${tests.passed} of ${tests.total} passed, ${tests.skipped} skipped`],
      took: ['Took', ({ duration_ms }) => duration_ms, 'ms'],
      reason: ['Reason', ({ reason }) => reason],
    }),
    ...(failing
      ? [
          {
            kind: 'code' as const,
            detail: true as const,
            title: `End of the output of ${failing.name}`,
            text: failing.output,
          },
        ]
      : []),
  ]
}

function mergeBlocks({ merges, conflicts }: BuildProgress): PanelBlock[] {
  const events = [...merges, ...conflicts].sort((one, other) => one.seq - other.seq)
  return tableBlock({ title: 'Merges, in order', detail: true }, events, {
    at: ['At', ({ at }) => at, 'time'],
    id: ['Task id', ({ data }) => data.task_id, 'code'],
    round: ['Round', ({ data }) => data.iteration, 'count'],
    state: ['State', ({ type }) => (type === 'build:merge' ? 'completed' : 'failed'), 'state'],
    note: ['Note', mergeNote],
  })
}

function mergeNote({ type, data }: BuildProgress['merges'][number] | BuildProgress['conflicts'][number]): string {
  if (type === 'build:merge') return `commit ${data.head.slice(0, 10)}`
  return `conflict in ${data.files.join(', ')}, merge round ${data.merge_round}`
}

function changedFileBlocks({ merges }: BuildProgress): PanelBlock[] {
  const rows = merges.flatMap(({ data: { task_id, changes } }) => [
    ...changes.files_created.map((path) => ({ path, change: 'created', task_id })),
    ...changes.files_modified.map((path) => ({ path, change: 'modified', task_id })),
    ...changes.files_deleted.map((path) => ({ path, change: 'deleted', task_id })),
  ])
  return tableBlock({ title: 'Files changed', detail: true }, rows, {
    path: ['File', ({ path }) => path, 'code'],
    change: ['Change', ({ change }) => change],
    task_id: ['By task', ({ task_id }) => task_id, 'code'],
  })
}

function reportBlocks({ start }: BuildProgress, output: unknown): PanelBlock[] {
  if (!isBuildOutput(output)) return []
  const notes = output.notes.filter((text) => !start?.notes.includes(text))
  return [
    ...notes.flatMap((text) => textBlock({ title: 'Note' }, text)),
    ...textBlock({ title: 'Report', claimed_by: 'architect', detail: true }, output.report),
  ]
}

export function isBuildOutput(output: unknown): output is BuildOutput {
  return typeof output === 'object' && output !== null && 'report' in output && 'merge_rounds' in output
}
