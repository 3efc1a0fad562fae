import { statfsSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import type { Figure, Line, Unit } from './bench.ts'

const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  16914836: 'tmpfs',
  2435016766: 'btrfs',
  1481003842: 'xfs',
}

/** Date, Node version, processor and file system. */
export function describeMachine(folder: string): string {
  const { type } = statfsSync(folder)
  const disk = FILE_SYSTEMS[type] ?? `file system 0x${type.toString(16)}`
  const cpu = cpus()[0]?.model.trim() ?? 'unknown processor'
  const day = new Date().toISOString().slice(0, 10)
  return `${day} · Node ${process.versions.node} · ${availableParallelism()} × ${cpu} · ${disk}`
}

/** Formats one line: figure, spread, ratios, target. */
export function formatLine({ label, figure, unit, ratios, target, note }: Line): string {
  const ratioTexts = Object.entries(ratios ?? {}).map(([name, ratio]) => `${formatDigits(ratio)}× ${name}`)
  const parts = [
    label.padEnd(56),
    formatValue(figure.median, unit).padStart(12),
    formatSpread(figure).padStart(20),
    ...ratioTexts.map((text) => text.padStart(20)),
    note ?? '',
    target ? `target ${target.text}: ${target.met ? 'ok' : 'MISS'}` : '',
  ]
  return `  ${parts.filter((part) => part !== '').join('  ')}`.trimEnd()
}

function formatSpread({ min, max, rounds }: Figure): string {
  return rounds === 1 ? '(1 round)' : `(${formatDigits(min)}–${formatDigits(max)})`
}

function formatValue(value: number, unit: Unit): string {
  return unit === '×' ? `${formatDigits(value)}×` : `${formatDigits(value)} ${unit}`
}

/** Formats at most three significant digits. */
function formatDigits(value: number): string {
  const magnitude = Math.abs(value)
  const places = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2
  return value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: places })
}
