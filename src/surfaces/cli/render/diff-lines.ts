import type { RunComparison } from '../../../entries/inspect.ts'
import { formatCount, formatDuration, formatUsd, pluralize } from '../../../views/format-amount.ts'
import { outputText } from '../../../views/pattern-views.ts'
import type { LoadedView } from '../../../views/run-view.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { differenceLines } from './difference-lines.ts'
import { STATUS_GLYPHS } from './status-glyphs.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import type { Column } from './table.ts'
import { renderTable } from './table.ts'

type ComparedRun = RunComparison['runs'][number]
type RunUsage = ComparedRun['usage']
type ForkChanges = NonNullable<ComparedRun['forked_from']>['changes']

type Pair = readonly [string, string]

/** The first difference of two runs, then totals, results and agents. */
export function diffLines(
  comparison: RunComparison,
  style: TerminalStyle,
  views: readonly LoadedView[] = [],
): string[] {
  const { runs, start, divergence, shared, differences } = comparison
  const counts = `${pluralize(shared, 'event')} equal, ${formatCount(differences)} different`
  return [
    ...runs.flatMap((run, index) => runLines(run, index === 0 ? 'A' : 'B', style)),
    '',
    ...(start ? differenceLines(start, style) : []),
    ...(divergence
      ? [...wrapText('first difference:', style.width), ...differenceLines(divergence, style)]
      : ['no differences']),
    renderLine(style, [['dim', counts]]),
    '',
    ...totalsTable(runs, style),
    ...resultLines(runs, style, views),
    '',
    ...agentTable(comparison, style),
  ]
}

function runLines({ run_id, pattern, status, forked_from }: ComparedRun, name: string, style: TerminalStyle): string[] {
  const [textStyle, glyph] = STATUS_GLYPHS[status] ?? (['dim', ''] as const)
  const origin = forked_from
    ? `forked at event ${forked_from.seq} of ${forked_from.run_id}${formatForkChanges(forked_from.changes)}`
    : ''
  return [
    renderLine(style, [['dim', `${name} `], [textStyle, `${glyph} `], ['bold', run_id], `  ${pattern}`]),
    ...(origin === '' ? [] : wrapText(`    ${origin}`, style.width, 4).map((text) => style.paint('dim', text))),
  ]
}

function formatForkChanges({ model, agents, limits, answers, input }: ForkChanges): string {
  const names = [
    ...(model === undefined ? [] : [`model=${model}`]),
    ...Object.entries(agents ?? {}).flatMap(([name, change]) =>
      Object.keys(change).map((property) => `agent.${name}.${property}`),
    ),
    ...Object.entries(limits ?? {}).map(([name, value]) => `limit.${name}=${value}`),
    ...Object.keys(answers ?? {}).map((id) => `gate.${id}`),
    ...Object.keys(input ?? {}).map((field) => `input.${field}`),
  ]
  return names.length === 0 ? '' : `, with ${names.join(', ')} changed`
}

function totalsTable([a, b]: RunComparison['runs'], style: TerminalStyle): string[] {
  const rows: (readonly [string, Pair])[] = [
    ['status', [formatStatus(a), formatStatus(b)]],
    ['calls', [formatCount(a.usage.calls), formatCount(b.usage.calls)]],
    ['tokens', [formatTokens(a.usage), formatTokens(b.usage)]],
    ['cost', [costCell(a.usage), costCell(b.usage)]],
    ['time', [formatDuration(a.usage.ms), formatDuration(b.usage.ms)]],
  ]
  const columns: Column<(typeof rows)[number]>[] = [
    { title: '', text: ([label]) => label },
    { title: 'A', text: ([, [before]]) => before, align: 'right' },
    {
      title: 'B',
      text: ([, [, after]]) => after,
      align: 'right',
      textStyle: ([, [x, y]]) => (x === y ? undefined : 'yellow'),
    },
  ]
  return renderTable(rows, columns, style)
}

function formatStatus({ status, stop_reason }: ComparedRun): string {
  return stop_reason && stop_reason !== status ? `${status} (${stop_reason})` : status
}

function formatTokens({ input, output }: RunUsage): string {
  return formatCount(input + output)
}

function costCell({ usd }: RunUsage): string {
  return usd === null ? 'unknown' : formatUsd(usd)
}

function resultLines([a, b]: RunComparison['runs'], style: TerminalStyle, views: readonly LoadedView[]): string[] {
  const [before, after] = [resultSummary(a, views), resultSummary(b, views)]
  if (before === after) return ['', renderLine(style, [['dim', 'same result']])]
  return ['', 'result', renderLine(style, [['red', `  - ${before}`]]), renderLine(style, [['green', `  + ${after}`]])]
}

function resultSummary({ pattern, output, error }: ComparedRun, views: readonly LoadedView[]): string {
  return (
    toTerminalLine(outputText(views, pattern, output)) ||
    (error ? toTerminalLine(`${error.code}: ${error.message}`) : '(none)')
  )
}

function agentTable({ agents }: RunComparison, style: TerminalStyle): string[] {
  const pair = (format: (usage: RunUsage) => string) => (row: RunComparison['agents'][number]) => {
    const [before, after] = [format(row.usage[0]), format(row.usage[1])]
    return before === after ? before : `${before} → ${after}`
  }
  const columns: Column<RunComparison['agents'][number]>[] = [
    { title: 'agent', text: ({ agent }) => toTerminalLine(agent), flexible: true },
    { title: 'sessions', text: pair((usage) => formatCount(usage.sessions)), align: 'right', dropBelow: 12 },
    { title: 'calls', text: pair((usage) => formatCount(usage.calls)), align: 'right' },
    { title: 'tokens', text: pair(formatTokens), align: 'right' },
    { title: 'cost', text: pair(costCell), align: 'right', dropBelow: 10 },
    { title: 'time', text: pair((usage) => formatDuration(usage.ms)), align: 'right', dropBelow: 10 },
  ]
  return renderTable(agents, columns, style)
}
