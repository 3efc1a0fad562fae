import type { Panel, PanelBlock, PanelFact, PanelStep } from '../../../views/panel.ts'
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
  return [
    ...(end
      ? [
          {
            label: 'result',
            value: end.status,
            tone: end.status === 'completed' ? ('good' as const) : ('attention' as const),
          },
        ]
      : phase
        ? [{ label: 'phase', value: `${phase.phase}, round ${phase.iteration}` }]
        : []),
    {
      label: 'base',
      value: `${start?.base_branch ?? 'detached HEAD'} ${start?.base.slice(0, 10) ?? ''}`,
      unit: 'code',
    },
    ...(plan ? [{ label: 'merged', value: mergedTasks(progress).text }] : []),
    ...(plan_answer === undefined ? [] : [{ label: 'plan', value: plan_answer }]),
    ...escalations.map(({ action, answer }) => ({
      label: 'escalation',
      value: answer === undefined ? action : `${action}: ${answer}`,
      tone: 'attention' as const,
    })),
    ...(end?.branch ? [{ label: 'branch', value: end.branch, unit: 'code' as const }] : []),
    ...(end?.head ? [{ label: 'commit', value: end.head.slice(0, 10), unit: 'code' as const }] : []),
    ...(start?.notes ?? []).map((value) => ({ label: 'note', value, tone: 'attention' as const })),
  ]
}

/** Who accepted the result, and how to take it over. */
function resultFacts(output: unknown): PanelFact[] {
  if (!isBuildOutput(output)) return []
  const { iterations, approved_by, branch, changes } = output
  return [
    ...(iterations === 0 ? [] : [{ label: 'rounds', value: iterations, unit: 'count' as const }]),
    ...(approved_by === null ? [] : [{ label: 'approved by', value: approved_by }]),
    ...(branch === null
      ? []
      : [
          { label: 'files', value: Object.values(changes).flat().length, unit: 'count' as const },
          { label: 'see it with', value: `git diff HEAD...${branch}`, unit: 'code' as const },
          { label: 'keep it with', value: `git merge ${branch}`, unit: 'code' as const },
        ]),
  ]
}

/** The checks of the result; one that had failed before is no fault of the work. */
function resultCheckBlocks(output: unknown): PanelBlock[] {
  if (!isBuildOutput(output) || output.checks.final.length === 0) return []
  const { final, baseline } = output.checks
  const texts = describeChecks(final, baseline)
  return [{ kind: 'text', title: 'Checks of the result', text: texts.join('\n') }]
}

function planBlocks(progress: BuildProgress): PanelBlock[] {
  const { plan, plan_notes } = progress
  if (!plan) return []
  const steps = plan.tasks.map(({ task_id }) => taskStep(progress, task_id))
  return [
    { kind: 'text', title: 'Plan', text: plan.no_change_reason ?? plan.summary, claimed_by: 'architect' },
    ...plan_notes.map((text) => ({ kind: 'text' as const, title: 'Note', text })),
    ...(steps.length === 0 ? [] : [{ kind: 'steps' as const, title: 'Tasks', steps }]),
    taskTable(progress),
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

function taskTable(progress: BuildProgress): PanelBlock {
  return {
    kind: 'table',
    title: 'Scope and dependencies',
    detail: true,
    columns: [
      { key: 'id', title: 'Task id', unit: 'code' },
      { key: 'title', title: 'Title' },
      { key: 'state', title: 'State', unit: 'state' },
      { key: 'developer', title: 'Developer', unit: 'agent' },
      { key: 'priority', title: 'Priority' },
      { key: 'scope', title: 'May change', unit: 'code' },
      { key: 'needs', title: 'Needs' },
      { key: 'attempts', title: 'Attempts', unit: 'count' },
      { key: 'files', title: 'Files changed', unit: 'count' },
    ],
    rows: (progress.plan?.tasks ?? []).map(({ task_id, title, agent, priority, scope, dependencies }) => {
      const attempts = progress.attempts.get(task_id) ?? []
      const changes = attempts.findLast(({ output }) => output)?.output?.changes
      return {
        id: task_id,
        title,
        state: taskState(progress, task_id),
        developer: attempts.at(-1)?.agent ?? agent,
        priority,
        scope: scope.join(', '),
        needs: dependencies.map((each) => `${each.task_id} (${each.kind})`).join(', ') || null,
        attempts: attempts.length,
        files: changes ? Object.values(changes).flat().length : null,
      }
    }),
    empty: 'The plan has no tasks.',
  }
}

function checkBlocks({ checks }: BuildProgress): PanelBlock[] {
  if (checks.length === 0) return []
  const baseline = new Map(checks.filter(({ stage }) => stage === 'baseline').map((check) => [check.name, check]))
  const failing = checks.findLast(({ status, output }) => status === 'failed' && output !== '')
  return [
    {
      kind: 'table',
      title: 'Checks',
      detail: true,
      columns: [
        { key: 'when', title: 'When' },
        { key: 'name', title: 'Check' },
        { key: 'command', title: 'Command', unit: 'code' },
        { key: 'state', title: 'Result', unit: 'state' },
        { key: 'before', title: 'Before the work', unit: 'state' },
        { key: 'tests', title: 'Tests' },
        { key: 'took', title: 'Took', unit: 'ms' },
        { key: 'reason', title: 'Reason' },
      ],
      rows: checks.map(({ stage, iteration, name, command, status, tests, duration_ms, reason }) => ({
        when: stage === 'baseline' ? 'before the work' : `round ${iteration}`,
        name,
        command,
        state: status,
        before: stage === 'baseline' ? null : (baseline.get(name)?.status ?? null),
        tests: tests ? `${tests.passed} of ${tests.total} passed, ${tests.skipped} skipped` : null,
        took: duration_ms,
        reason: reason ?? null,
      })),
    },
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
  const rows = [...merges, ...conflicts]
    .sort((one, other) => one.seq - other.seq)
    .map((event) => ({
      at: event.at,
      id: event.data.task_id,
      round: event.data.iteration,
      state: event.type === 'build:merge' ? 'completed' : 'failed',
      note:
        event.type === 'build:merge'
          ? `commit ${event.data.head.slice(0, 10)}`
          : `conflict in ${event.data.files.join(', ')}, merge round ${event.data.merge_round}`,
    }))
  if (rows.length === 0) return []
  const columns = [
    { key: 'at', title: 'At', unit: 'time' as const },
    { key: 'id', title: 'Task id', unit: 'code' as const },
    { key: 'round', title: 'Round', unit: 'count' as const },
    { key: 'state', title: 'State', unit: 'state' as const },
    { key: 'note', title: 'Note' },
  ]
  return [{ kind: 'table', title: 'Merges, in order', detail: true, columns, rows }]
}

function changedFileBlocks({ merges }: BuildProgress): PanelBlock[] {
  const rows = merges.flatMap(({ data: { task_id, changes } }) => [
    ...changes.files_created.map((path) => ({ path, change: 'created', task_id })),
    ...changes.files_modified.map((path) => ({ path, change: 'modified', task_id })),
    ...changes.files_deleted.map((path) => ({ path, change: 'deleted', task_id })),
  ])
  if (rows.length === 0) return []
  const columns = [
    { key: 'path', title: 'File', unit: 'code' as const },
    { key: 'change', title: 'Change' },
    { key: 'task_id', title: 'By task', unit: 'code' as const },
  ]
  return [{ kind: 'table', title: 'Files changed', detail: true, columns, rows }]
}

function reportBlocks({ start }: BuildProgress, output: unknown): PanelBlock[] {
  if (!isBuildOutput(output)) return []
  const notes = output.notes.filter((text) => !start?.notes.includes(text))
  return [
    ...notes.map((text) => ({ kind: 'text' as const, title: 'Note', text })),
    { kind: 'text', title: 'Report', text: output.report, claimed_by: 'architect', detail: true },
  ]
}

export function isBuildOutput(output: unknown): output is BuildOutput {
  return typeof output === 'object' && output !== null && 'report' in output && 'merge_rounds' in output
}
