import { statfsSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import type { Figure, Line, Unit } from './bench.ts'

const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  16914836: 'tmpfs',
  2435016766: 'btrfs',
  1481003842: 'xfs',
}

/** Where and when: a figure without it says nothing. */
export function describeMachine(folder: string): string {
  const { type } = statfsSync(folder)
  const disk = FILE_SYSTEMS[type] ?? `file system 0x${type.toString(16)}`
  const cpu = cpus()[0]?.model.trim() ?? 'unknown processor'
  const day = new Date().toISOString().slice(0, 10)
  return `${day} · Node ${process.versions.node} · ${availableParallelism()} × ${cpu} · ${disk}`
}

/** One line of the output: figure, spread, ratios, aim. */
export function formatLine({ what, figure, unit, times, aim, note }: Line): string {
  const ratios = Object.entries(times ?? {}).map(([name, ratio]) => `${formatDigits(ratio)}× ${name}`)
  const parts = [
    what.padEnd(56),
    formatValue(figure.median, unit).padStart(12),
    formatSpread(figure).padStart(20),
    ...ratios.map((ratio) => ratio.padStart(20)),
    note ?? '',
    aim ? `aim ${aim.text}: ${aim.met ? 'ok' : 'MISS'}` : '',
  ]
  return `  ${parts.filter((part) => part !== '').join('  ')}`.trimEnd()
}

function formatSpread({ min, max, rounds }: Figure): string {
  return rounds === 1 ? '(1 round)' : `(${formatDigits(min)}–${formatDigits(max)})`
}

function formatValue(value: number, unit: Unit): string {
  return unit === '×' ? `${formatDigits(value)}×` : `${formatDigits(value)} ${unit}`
}

/** Three significant digits are more than such a machine can promise. */
function formatDigits(value: number): string {
  const size = Math.abs(value)
  const places = size >= 100 ? 0 : size >= 10 ? 1 : 2
  return value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: places })
}
