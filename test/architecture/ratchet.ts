import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Places, RatchetFigures } from './ratchet-figures.ts'
import { words } from './ratchet-figures.ts'

/*
 * Figures that only fall. Only `npm run figures` writes the committed file.
 * 1. A measured figure is at most its committed value. The committed places tell which one is new.
 * 2. A value rises by what a decision record states, once: `raised` keeps the amounts by the number of the record.
 * 3. `seal` is a checksum of all figures, so that a value which was edited by hand is recognised without git, even where the code has grown to it.
 */

type CommittedFigure = { value: number; raised: Record<string, number>; places: Places }
export type CommittedFigures = Record<string, CommittedFigure>

export const FIGURES_FILE = 'test/architecture/figures.json'
const RESTORE = `restore it from the last commit (git checkout HEAD -- ${FIGURES_FILE}), then run: npm run figures -- --lower`

/** What stops a command, and makes `npm test` fail. The message says what to run. */
export class RatchetError extends Error {}

export function readCommitted(root: string): CommittedFigures {
  const path = join(root, FIGURES_FILE)
  if (!existsSync(path)) throw new RatchetError(`${FIGURES_FILE} is missing: ${RESTORE}`)
  try {
    const { figures, seal } = JSON.parse(readFileSync(path, 'utf8'))
    if (seal === sealOf(figures)) return figures
  } catch {
    // Conflict markers, for example.
  }
  throw new RatchetError(`${FIGURES_FILE} was edited by hand: ${RESTORE}, or with a decision record -- --raise NNNN`)
}

export function writeCommitted(root: string, figures: CommittedFigures): void {
  writeFileSync(join(root, FIGURES_FILE), `${JSON.stringify({ figures, seal: sealOf(figures) }, null, 2)}\n`)
}

function sealOf(figures: CommittedFigures): string {
  return createHash('sha256').update(JSON.stringify(figures)).digest('hex').slice(0, 16)
}

export function totalOf(places: Places): number {
  return Object.values(places).reduce<number>((sum, each) => sum + countOf(each), 0)
}

function countOf(place: number | string = 0): number {
  return typeof place === 'number' ? place : words(place).length
}

/** What is higher than committed, each with the places that grew, and what is no longer measured. */
export function findRises(committed: CommittedFigures, measured: RatchetFigures): string[] {
  const unmeasured = Object.keys(committed).filter((title) => !measured[title])
  const rises = Object.entries(measured).flatMap(([title, places]) => {
    const figure = committed[title]
    const rise = totalOf(places) - (figure?.value ?? 0)
    if (figure && rise <= 0) return []
    const problem = figure ? `committed ${figure.value}` : `${FIGURES_FILE} has no such figure: ${RESTORE}`
    const found = `${title}: ${totalOf(places)}, ${problem}. New: ${newPlaces(figure?.places ?? {}, places).join('; ')}`
    const line = recordLine(title, rise)
    return [
      `${found}. Delete as much, or write ${line} into a decision record and run: npm run figures -- --raise NNNN`,
    ]
  })
  return [
    ...rises,
    ...unmeasured.map((title) => `${title} is committed and no longer measured: measure it (ratchet-figures.ts)`),
  ]
}

function newPlaces(before: Places, after: Places): string[] {
  return Object.entries(after).flatMap(([place, now]) => {
    const then = before[place]
    const names = words(String(now)).filter((name) => !words(String(then)).includes(name))
    const growth = countOf(now) - countOf(then)
    if (typeof now === 'string') return names.length > 0 ? [`${place} ${names.join(' ')}`] : []
    return growth > 0 ? [`${place} +${growth}`] : []
  })
}

/** Figures at their measured values where these are not higher. */
export function lower(committed: CommittedFigures, measured: RatchetFigures): CommittedFigures {
  const lowered = Object.entries(committed).map(([title, figure]) => {
    const places = measured[title] ?? figure.places
    const value = totalOf(places)
    return [title, value > figure.value ? figure : { ...figure, value, places }]
  })
  return Object.fromEntries(lowered)
}

/** Adds what the record states and was not added before. A figure that the file lacks starts at 0. */
export function raise(root: string, committed: CommittedFigures, decision: string): CommittedFigures {
  const raises = Object.entries(statedRaises(root, decision))
  if (raises.length === 0) throw new RatchetError(`decision ${decision} has no line ${recordLine('FIGURE', 'N')}`)
  const raised = raises.map(([title, by]) => {
    const figure = committed[title] ?? { value: 0, raised: {}, places: {} }
    const value = figure.value + by - (figure.raised[decision] ?? 0)
    return [title, { ...figure, value, raised: { ...figure.raised, [decision]: by } }]
  })
  return { ...committed, ...Object.fromEntries(raised) }
}

function recordLine(title: string, by: number | string): string {
  return `"Raises \`${title}\` by ${by}; deleted for it: …"`
}

function statedRaises(root: string, decision: string): Record<string, number> {
  const folder = join(root, 'docs/decisions')
  const name = existsSync(folder) && readdirSync(folder).find((each) => each.startsWith(`${decision}-`))
  const record = name ? readFileSync(join(folder, name), 'utf8') : ''
  const lines = record.matchAll(/^(?:- )?Raises `([^`]+)` by ([\d,]+); deleted for it: \S/gm)
  return Object.fromEntries([...lines].map(([, title, by = '']) => [title, Number(by.replaceAll(',', ''))]))
}

/** Raises that their decision record does not state. */
export function findUnstatedRaises(root: string, committed: CommittedFigures): string[] {
  return Object.entries(committed).flatMap(([title, { raised }]) =>
    Object.entries(raised)
      .filter(([decision, by]) => statedRaises(root, decision)[title] !== by)
      .map(([decision, by]) => `decision ${decision} has no line ${recordLine(title, by)}`),
  )
}
