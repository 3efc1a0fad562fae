import type { Panel } from '../../../entries/patterns.ts'
import { formatCount, formatDuration, formatUsd, pluralize } from '../../../views/format-amount.ts'
import type {
  PanelBlock,
  PanelEdge,
  PanelFact,
  PanelShare,
  PanelStep,
  PanelUnit,
  PanelValue,
} from '../../../views/panel.ts'
import { displayWidth, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { STATUS_GLYPHS } from './status-glyphs.ts'
import type { TerminalStyle, TextSpan, TextStyle } from './styled-line.ts'
import { renderPatternLine } from './styled-line.ts'
import { renderTable } from './table.ts'

/*
 * Draws the blocks of panels and reports on a terminal. Their text may come from models, so terminal escapes are removed (escape injection), and no
 * line is wider than the terminal.
 */

type BlockOf<Kind extends PanelBlock['kind']> = Extract<PanelBlock, { kind: Kind }>

/** Panels with their titles; without `all`, what explains and repeats is left out, and long texts and tables are cut. */
export function panelLines(panels: readonly Panel[], style: TerminalStyle, all = false): string[] {
  return panels.flatMap(({ title, badge, blocks }, index) => {
    const shown = blocks.filter((block) => all || !block.detail)
    const lines = shown.flatMap((block, place) => {
      // The title of the panel is enough for what it begins with.
      const { title: own, ...untitled } = block
      try {
        return blockLines(place > 0 || (block.kind !== 'facts' && own !== title) ? block : untitled, style, all)
      } catch {
        // The view of another program gave a block that cannot be drawn: the rest of the run stays visible.
        return styledLines(`${toTerminalLine(own ?? title)}: cannot be shown`, style, { indent: 2, textStyle: 'dim' })
      }
    })
    if (lines.length === 0) return []
    const heading = renderPatternLine(style, [['bold', title.toLowerCase()], badge === undefined ? '' : `  ${badge}`])
    return [...(index === 0 ? [] : ['']), heading, ...lines]
  })
}

const MAX_LINES = 12

/** A block below its title. */
export function blockLines(block: PanelBlock, style: TerminalStyle, all = false): string[] {
  const max = all ? Number.POSITIVE_INFINITY : MAX_LINES
  if (block.kind === 'facts' && block.title === undefined) return factLines(block.facts, style)
  if (block.kind === 'text') return textLines(block, style, max)
  const lines = contentLines(block, style, max)
  if (lines.length === 0 || block.title === undefined) return lines
  return [...styledLines(`${toTerminalLine(block.title)}`, style, { indent: 2, textStyle: 'dim' }), ...lines]
}

function contentLines(block: Exclude<PanelBlock, BlockOf<'text'>>, style: TerminalStyle, max: number): string[] {
  switch (block.kind) {
    case 'facts':
      return factLines(block.facts, style)
    case 'table':
      return tableLines(block, style, max)
    case 'steps':
      return block.steps.flatMap((step) => stepLines(step, style, ''))
    case 'shares':
      return block.shares.flatMap((share) => shareLines(share, block, style))
    case 'graph':
      return block.edges.flatMap((edge) => edgeLines(edge, style))
    case 'matrix':
      return tableLines(matrixTable(block), style, max)
    case 'messages': {
      const texts = block.messages.flatMap(({ role, parts }) => parts.map(({ text }) => `${role}: ${text}`))
      return cutLines(texts.join('\n'), style, max)
    }
    case 'code':
      return cutLines(block.text, style, max)
    case 'diff':
      return [renderPatternLine(style, ['  ', block.path]), ...cutLines(block.diff, style, max)]
    case 'json':
      return cutLines(JSON.stringify(block.value, undefined, 2) ?? '', style, max)
  }
}

/** A text that is wrapped. */
function styledLines(
  text: string,
  style: TerminalStyle,
  { indent, textStyle }: { indent: number; textStyle?: TextStyle | undefined },
): string[] {
  return wrapText(text, style.width, indent).map((line) => {
    const shown = line.replaceAll(NO_BREAK_SPACE, ' ')
    return renderPatternLine(style, [textStyle ? [textStyle, shown] : shown])
  })
}

const NO_BREAK_SPACE = '\u00a0'

/** Text that is not broken between words. */
function toUnbreakable(text: string): string {
  return text.replaceAll(' ', NO_BREAK_SPACE)
}

const TONES = { neutral: undefined, good: 'green', bad: 'red', attention: 'yellow', muted: 'dim' } as const
/** Of a line. */
const MAX_JOINED_SHARE = 0.55

/** Short facts share lines; a long one, and one that needs attention, has its own. */
function factLines(facts: readonly PanelFact[], style: TerminalStyle): string[] {
  const shown = facts.flatMap(({ label, value, unit, tone = 'neutral' }) => {
    if (value === null) return []
    const text = `${toTerminalLine(label)}: ${cellText(value, unit)}`
    return {
      text,
      tone,
      isJoined: text.length <= style.width * MAX_JOINED_SHARE && tone !== 'bad' && tone !== 'attention',
    }
  })
  const separator = style.ascii ? ' - ' : ' · '
  return shown.flatMap(({ text, tone, isJoined }, index) => {
    if (!isJoined) return styledLines(text, style, { indent: 2, textStyle: TONES[tone] })
    if (shown[index - 1]?.isJoined) return []
    const end = shown.findIndex((each, place) => place > index && !each.isJoined)
    const group = shown.slice(index, end === -1 ? undefined : end)
    return styledLines(group.map((each) => toUnbreakable(each.text)).join(separator), style, { indent: 2 })
  })
}

function cellText(value: PanelValue, unit: PanelUnit = 'text'): string {
  if (value === null) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return toTerminalLine(value)
  switch (unit) {
    case 'share':
      return `${Math.round(value * 100)} %`
    case 'usd':
      return formatUsd(value)
    case 'ms':
      return formatDuration(value)
    case 'time':
      return Number.isNaN(new Date(value).getTime())
        ? '-'
        : new Date(value).toISOString().slice(0, 19).replace('T', ' ')
    default:
      return formatCount(value)
  }
}

/** A text of one line stands beside its title. */
function textLines({ title, text, claimed_by }: BlockOf<'text'>, style: TerminalStyle, max: number): string[] {
  const heading = toTerminalLine(title && claimed_by ? `${title} (${claimed_by})` : (title ?? claimed_by ?? ''))
  if (!text.trim().includes('\n'))
    return styledLines([heading, toTerminalLine(text)].filter((part) => part !== '').join(': '), style, { indent: 2 })
  return [
    ...(heading === '' ? [] : styledLines(heading, style, { indent: 2, textStyle: 'dim' })),
    ...cutLines(text, style, max),
  ]
}

function cutLines(text: string, style: TerminalStyle, max: number): string[] {
  const lines = text
    .trim()
    .split('\n')
    .flatMap((line) => styledLines(`  ${toTerminalLine(line)}`, style, { indent: 2 }))
  return lines.length <= max ? lines : [...lines.slice(0, max), moreLine(lines.length - max, 'line', style)]
}

function moreLine(count: number, noun: string, style: TerminalStyle): string {
  return renderPatternLine(style, [['dim', `  … ${pluralize(count, `more ${noun}`)} (show with --all)`]])
}

/** As a table where it fits, else one record after the other. Columns without a value are left out. */
function tableLines({ columns, rows, empty = '' }: BlockOf<'table'>, style: TerminalStyle, max: number): string[] {
  if (rows.length === 0) return empty === '' ? [] : styledLines(`  ${empty}`, style, { indent: 2, textStyle: 'dim' })
  const known = columns.filter(({ key }) => rows.some((row) => (row[key] ?? null) !== null))
  const shown = rows.slice(0, max)
  const cells = known.map(({ key, title, unit }) => ({
    title: toTerminalLine(title),
    text: (row: (typeof rows)[number]) => cellText(row[key] ?? null, unit),
  }))
  const width = cells.reduce(
    (sum, { title, text }) => sum + 2 + Math.max(displayWidth(title), ...shown.map((row) => displayWidth(text(row)))),
    0,
  )
  const lines =
    width <= style.width
      ? renderTable(shown, cells, { ...style, width: style.width - 2 }).map((line) => `  ${line}`)
      : shown.flatMap((row) => recordLines(row, known, style))
  return rows.length > max ? [...lines, moreLine(rows.length - max, 'row', style)] : lines
}

function recordLines(
  row: BlockOf<'table'>['rows'][number],
  columns: BlockOf<'table'>['columns'],
  style: TerminalStyle,
): string[] {
  const [first, ...rest] = columns
  const facts = rest.flatMap(({ key, title, unit }): PanelFact[] => {
    const value = row[key] ?? null
    return value === null ? [] : [{ label: title.toLowerCase(), value, ...(unit ? { unit } : undefined) }]
  })
  const inner = { ...style, width: style.width - 4 }
  const heading = first ? cellText(row[first.key] ?? null, first.unit) : ''
  return [
    ...styledLines(`  ${heading}`, style, { indent: 4, textStyle: 'bold' }),
    ...factLines(facts, inner).map((line) => `    ${line}`),
  ]
}

function matrixTable({ unit, rows, columns, values }: BlockOf<'matrix'>): BlockOf<'table'> {
  return {
    kind: 'table',
    columns: [
      { key: 'name', title: '' },
      ...columns.map((title, index) => ({ key: String(index), title, ...(unit ? { unit } : undefined) })),
    ],
    rows: rows.map((name, row) => ({
      name,
      ...Object.fromEntries(columns.map((_, index) => [index, values[row]?.[index] ?? null])),
    })),
  }
}

function stepLines(
  { title, state, agent = '', note, steps = [] }: PanelStep,
  style: TerminalStyle,
  indent: string,
): string[] {
  const known = Object.hasOwn(STATUS_GLYPHS, state) ? STATUS_GLYPHS[state] : undefined
  const name: TextSpan[] = agent === '' || agent === title ? [] : [['bold', toTerminalLine(agent)], '  ']
  const words: TextSpan = known ? '' : ['dim', `  ${state}`]
  const inner = `${indent}  `
  return [
    renderPatternLine(style, [indent, known ?? '-', ' ', ...name, toTerminalLine(title), words]),
    ...(note === undefined
      ? []
      : styledLines(inner + toTerminalLine(note), style, { indent: inner.length, textStyle: 'dim' })),
    ...steps.flatMap((step) => stepLines(step, style, inner)),
  ]
}

/** From this width on, labels appear beside their bars instead of below. */
const MIN_WIDE_WIDTH = 60

function shareLines(share: PanelShare, { unit = 'share', shares }: BlockOf<'shares'>, style: TerminalStyle): string[] {
  const { label, value, tone = 'neutral', by = [] } = share
  const whole = unit === 'share' ? 1 : Math.max(1e-9, ...shares.map((each) => each.value))
  const size = Math.max(6, Math.min(24, Math.floor(style.width / 4)))
  const isWide = style.width >= MIN_WIDE_WIDTH
  const textStyle = TONES[tone] ?? 'cyan'
  const mark = tone === 'good' ? (style.ascii ? '*' : '✓') : ' '
  const bar: TextSpan[] = [
    [textStyle, `${mark} ${formatBar(value / whole, size, style)}`],
    `  ${cellText(value, unit).padStart(5)}`,
  ]
  const text: TextSpan =
    tone === 'good' || tone === 'attention' ? ['bold', toTerminalLine(label)] : toTerminalLine(label)
  const indent = ' '.repeat(isWide ? size + 11 : 2)
  const supporters = by.map(({ agent, value: own, note }) => {
    const certainty = own === undefined ? '' : ` ${cellText(own, 'share')}`
    const remark = note === undefined ? '' : ` (${toTerminalLine(note)})`
    return `${toUnbreakable(`${toTerminalLine(agent)}${certainty}`)}${remark}`
  })
  return [
    ...(isWide
      ? [renderPatternLine(style, [...bar, '  ', text])]
      : [renderPatternLine(style, bar), renderPatternLine(style, [indent, text])]),
    ...(supporters.length === 0
      ? []
      : styledLines(indent + supporters.join(', '), style, { indent: indent.length, textStyle: 'dim' })),
  ]
}

/** Empty only for 0 % and full only for 100 %, despite rounding. */
function formatBar(share: number, size: number, { ascii }: TerminalStyle): string {
  const filled = share <= 0 ? 0 : share >= 1 ? size : Math.min(size - 1, Math.max(1, Math.round(share * size)))
  return (ascii ? '#' : '█').repeat(filled) + (ascii ? '.' : '░').repeat(size - filled)
}

/** An edge that was taken. */
function edgeLines({ from, to, label = '', count = 1 }: PanelEdge, style: TerminalStyle): string[] {
  if (count === 0) return []
  const times = count > 1 ? `  ${count} times` : ''
  return [renderPatternLine(style, ['  ', from, ' → ', to, ['dim', `  ${toTerminalLine(label)}${times}`]])]
}
