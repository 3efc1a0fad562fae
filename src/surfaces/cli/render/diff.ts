import type { ForkChanges, RunComparison, RunSide, Used } from '../../../index.ts'
import { counted, duration, exact, money } from './amounts.ts'
import { differenceLines } from './difference.ts'
import type { Look } from './line.ts'
import { line } from './line.ts'
import { outputText } from './result.ts'
import type { Column } from './table.ts'
import { table } from './table.ts'
import { GLYPHS } from './tree.ts'
import { oneLine, wrap } from './width.ts'

type Pair = readonly [string, string]

/** Where two runs part, and what came of it: the whole first, then by agent. */
export function diffLines(compared: RunComparison, look: Look): string[] {
  const { runs, start, parting, shared, differences } = compared
  const facts = `${counted(shared, 'fact')} the same, ${exact(differences)} different`
  return [
    ...runs.flatMap((run, index) => runLines(run, index === 0 ? 'A' : 'B', look)),
    '',
    ...(start ? differenceLines(start, look) : []),
    ...(parting ? [...wrap('they part here:', look.width), ...differenceLines(parting, look)] : ['they tell the same']),
    line(look, [['dim', facts]]),
    '',
    ...wholeTable(runs, look),
    ...resultLines(runs, look),
    '',
    ...agentTable(compared, look),
  ]
}

function runLines({ run_id, pattern, status, forked_from }: RunSide, name: string, look: Look): string[] {
  const [style, glyph] = GLYPHS[status] ?? (['dim', ''] as const)
  const origin = forked_from
    ? `from event ${forked_from.seq} of ${forked_from.run_id}${changed(forked_from.changes)}`
    : ''
  return [
    line(look, [['dim', `${name} `], [style, `${glyph} `], ['bold', run_id], `  ${pattern}`]),
    ...(origin === '' ? [] : wrap(`    ${origin}`, look.width, 4).map((text) => look.paint('dim', text))),
  ]
}

function changed({ model, agents, limits, answers, input }: ForkChanges): string {
  const names = [
    ...(model === undefined ? [] : [`model=${model}`]),
    ...Object.entries(agents ?? {}).flatMap(([name, change]) =>
      Object.keys(change).map((what) => `agent.${name}.${what}`),
    ),
    ...Object.entries(limits ?? {}).map(([name, value]) => `limit.${name}=${value}`),
    ...Object.keys(answers ?? {}).map((id) => `gate.${id}`),
    ...Object.keys(input ?? {}).map((field) => `input.${field}`),
  ]
  return names.length === 0 ? '' : `, with ${names.join(', ')} changed`
}

function wholeTable([a, b]: RunComparison['runs'], look: Look): string[] {
  const rows: (readonly [string, Pair])[] = [
    ['status', [statusOf(a), statusOf(b)]],
    ['calls', [exact(a.used.calls), exact(b.used.calls)]],
    ['tokens', [tokens(a.used), tokens(b.used)]],
    ['cost', [cost(a.used), cost(b.used)]],
    ['time', [duration(a.used.ms), duration(b.used.ms)]],
  ]
  const columns: Column<(typeof rows)[number]>[] = [
    { title: '', text: ([what]) => what },
    { title: 'A', text: ([, [before]]) => before, side: 'right' },
    {
      title: 'B',
      text: ([, [, after]]) => after,
      side: 'right',
      style: ([, [x, y]]) => (x === y ? undefined : 'yellow'),
    },
  ]
  return table(rows, columns, look)
}

function statusOf({ status, stop_reason }: RunSide): string {
  return stop_reason && stop_reason !== status ? `${status} (${stop_reason})` : status
}

function tokens({ input, output }: Used): string {
  return exact(input + output)
}

function cost({ usd }: Used): string {
  return usd === null ? 'unknown' : money(usd)
}

function resultLines([a, b]: RunComparison['runs'], look: Look): string[] {
  const [before, after] = [resultOf(a), resultOf(b)]
  if (before === after) return ['', line(look, [['dim', 'the result is the same']])]
  return ['', 'result', line(look, [['red', `  - ${before}`]]), line(look, [['green', `  + ${after}`]])]
}

function resultOf({ output, error }: RunSide): string {
  return oneLine(outputText(output)) || (error ? oneLine(`${error.code}: ${error.message}`) : '(none)')
}

function agentTable({ agents }: RunComparison, look: Look): string[] {
  const both = (show: (used: Used) => string) => (row: RunComparison['agents'][number]) => {
    const [before, after] = [show(row.used[0]), show(row.used[1])]
    return before === after ? before : `${before} → ${after}`
  }
  const columns: Column<RunComparison['agents'][number]>[] = [
    { title: 'agent', text: ({ agent }) => oneLine(agent), flexible: true },
    { title: 'sessions', text: both((used) => exact(used.sessions)), side: 'right', dropBelow: 12 },
    { title: 'calls', text: both((used) => exact(used.calls)), side: 'right' },
    { title: 'tokens', text: both(tokens), side: 'right' },
    { title: 'cost', text: both(cost), side: 'right', dropBelow: 10 },
    { title: 'time', text: both((used) => duration(used.ms)), side: 'right', dropBelow: 10 },
  ]
  return table(agents, columns, look)
}
