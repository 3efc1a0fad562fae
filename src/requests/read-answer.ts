import type { SessionResult } from '../kernel/session-result.ts'
import type { AnswerField, AnswerFields, AnswerShape, AnswerValue } from '../schema/answer-shape.ts'
import { isChoiceField, isListField, isReferenceField } from '../schema/answer-shape.ts'
import * as z from '../schema/zod.ts'
import { isCopiedExample } from './copied-example.ts'
import type { CutOffObject } from './cut-off-object.ts'
import { parseCutOffObject } from './cut-off-object.ts'
import { decodeJsonString, parseStructuredOutput } from './structured-output.ts'

/*
 * Reads answers of models leniently, field by field: a field in another form is converted, or is missing. One invalid field must not lose the others, and
 * nothing is sent back for its form.
 */

export type Fields = Readonly<Record<string, unknown>>

export interface ReadAnswer<S extends AnswerShape = AnswerShape> {
  /** `undefined` when the answer has no object with any of the fields: it is prose. */
  value: AnswerValue<S['fields']> | undefined
  /** The object as the model wrote it, also one that was found in its text. */
  fields: Fields | undefined
  /** Values that were not used, described for people. */
  notes: string[]
  /** The answer ends within its object. */
  isCutOff: boolean
}

interface Reading {
  shape: AnswerShape
  examples: readonly string[]
  notes: string[]
}

type FieldReading = Reading & { name: string }

/** Reads the structured output, the object in a text, or what there is of one that was cut off. */
export function readAnswer<const S extends AnswerShape>(
  shape: S,
  { object, text }: Pick<SessionResult, 'object' | 'text'>,
): ReadAnswer<S> {
  const parsed = isFields(object) ? object : parseObject(text)
  const cutOff = parsed ? undefined : parseCutOffObject(text)
  const found = parsed ?? (cutOff && withoutHalves(shape, cutOff)) ?? {}
  const fields = unwrap(shape.fields, found)
  const none = { value: undefined, fields: parsed, notes: [], isCutOff: cutOff !== undefined }
  const aliases = Object.keys(shape.aliases ?? {})
  if (![...Object.keys(shape.fields), ...aliases].some((name) => Object.hasOwn(fields, name))) return none
  const reading = { shape, examples: textsIn(shape.example ?? {}), notes: [] as string[] }
  const value = readFields(shape.fields, fields, reading) as AnswerValue<S['fields']>
  return { ...none, value: withoutCopies(shape, value), fields, notes: reading.notes }
}

function parseObject(text: string): Fields | undefined {
  const parsed = parseStructuredOutput(z.record(z.string(), z.unknown()), text)
  return parsed.ok ? (parsed.object as Fields) : undefined
}

/** The answer itself where a model wraps it into an object, or writes all of it once more into its first text, as JSON. */
function unwrap(fields: AnswerFields, found: Fields): Fields {
  const known = (each: Fields) => Object.keys(fields).filter((name) => Object.hasOwn(each, name) && each[name] !== '')
  const inner = Object.values(found)
    .map((value) => decodeJsonString(value)?.value ?? value)
    .filter(isFields)
  const outer = known(found)
  const isRepeated = (each: Fields) => outer.length > 0 && known(each).includes(outer[0] ?? '')
  return inner.find((each) => known(each).length > outer.length && (outer.length === 0 || isRepeated(each))) ?? found
}

/**
 * Leaves out the incomplete end of a field that has to be whole, and an incomplete word: "no" may be the beginning of "not sure". In a list an empty object
 * stays, so that it is not passed over in silence.
 */
function withoutHalves({ fields: asked, whole = [] }: AnswerShape, { fields, cut }: CutOffObject): Fields {
  const name = Object.keys(fields).at(-1) ?? ''
  const isWhole = whole.includes(name)
  const { [name]: value, ...rest } = fields
  if (isWhole && Array.isArray(value)) return { ...rest, [name]: [...value.slice(0, -1), {}] }
  const isText = asked[name] === 'text' || asked[name] === 'text?'
  return cut === name && (isWhole || !isText) ? rest : fields
}

function readFields(fields: AnswerFields, found: Fields, reading: Reading): Record<string, unknown> {
  const entries = Object.entries(fields)
  const aliases = Object.entries(reading.shape.aliases ?? {})
  return Object.fromEntries(
    entries.map(([name, field]) => {
      const names = [name, ...aliases.flatMap(([alias, meant]) => (meant === name ? [alias] : []))]
      const given = names.map((each) => found[each]).find((each) => each !== undefined && each !== null && each !== '')
      return [name, readField(field, given, { ...reading, name })]
    }),
  )
}

function readField(field: AnswerField, given: unknown, reading: FieldReading): unknown {
  if (isListField(field)) return readList(given).flatMap((entry) => readItem(field[0], entry, reading))
  if (isChoiceField(field)) return readChoice(given, field)
  if (isReferenceField(field)) return readReference(given, field.to)
  if (typeof field === 'object') return isFields(given) ? readFields(field, given, reading) : null
  switch (field) {
    case 'text':
      return readOwnText(given, reading)
    case 'text?': {
      const text = readOwnText(given, reading)
      return text === '' || text.toLowerCase() === 'null' ? null : text
    }
    case 'verdict':
    case 'verdict?':
      return readVerdict(given)
    case 'confidence':
      return readConfidence(given, reading)
    case 'ordinal':
      return readText(given)
    case 'any':
      return given ?? null
    default:
      return readNumber(given, field !== 'number')
  }
}

/** An element that says nothing is left out, but an empty object is kept: what is missing in it can be told. */
function readItem(field: AnswerField, entry: unknown, reading: FieldReading): unknown[] {
  const { bare } = reading.shape
  if (typeof field === 'object' && !isListField(field) && !isChoiceField(field) && !isReferenceField(field)) {
    const isText = bare !== undefined && !isFields(entry) && readText(entry) !== ''
    const found = isFields(entry) ? entry : isText ? { [bare]: entry } : undefined
    return found ? [readFields(field, withMainText(field, found, bare), reading)] : []
  }
  const value = readField(field, entry, reading)
  return value === null || value === '' ? [] : [value]
}

/** Takes the text that has another name than the field asked for. */
function withMainText(fields: AnswerFields, found: Fields, bare: string | undefined): Fields {
  if (bare === undefined || readText(found[bare]) !== '') return found
  const [, text] =
    Object.entries(found).find(([name, value]) => !Object.hasOwn(fields, name) && readText(value) !== '') ?? []
  return text === undefined ? found : { ...found, [bare]: text }
}

/** A text of the model's own, not copied from the example. */
function readOwnText(given: unknown, { shape, examples, name }: FieldReading): string {
  const text = readText(given)
  if (shape.verbatim?.includes(name)) return text
  return text === '' || (examples.length > 0 && isCopiedExample(text, examples)) ? '' : text
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A text, a number as text, or the first text of an object. */
export function readText(value: unknown): string {
  if (isFields(value)) return readText(Object.values(value).find((each) => !isFields(each) && readText(each) !== ''))
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
}

/** A list, or one element without its brackets. */
function readList(given: unknown): unknown[] {
  const value = decodeJsonString(given)?.value ?? given
  if (value === undefined || value === null || value === '') return []
  return Array.isArray(value) ? value : [value]
}

const YES = new Set(['true', 'yes', 'same', 'passed', 'met'])
const NO = new Set(['false', 'no', 'different', 'failed', 'not met'])

export function readVerdict(value: unknown): boolean | null {
  const word = typeof value === 'boolean' ? String(value) : readText(value).toLowerCase()
  return YES.has(word) ? true : NO.has(word) ? false : null
}

/** A number, or a text such as "8" or "8/10"; an integer also from "line 12-20". */
function readNumber(value: unknown, isInteger: boolean): number | null {
  const pattern = isInteger ? /(?<![\d.])(-?\d{1,15})(?![\d.]*\.\d)/ : /^(-?\d+(?:\.\d+)?)\s*(?:\/\s*\d+)?$/
  const [, digits] = pattern.exec(readText(value).slice(0, 200)) ?? []
  return digits === undefined ? null : Number(digits)
}

/** A number between 1 and this one is ambiguous: it could be on a scale of 5, 10 or 100. */
const MIN_PERCENT = 10

/** 92 and "92 %" are 0.92. */
function readConfidence(value: unknown, { notes, name }: FieldReading): number | null {
  const text = readText(value)
  const [, digits, percent] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text.normalize('NFKC').trim()) ?? []
  const number = Number(digits)
  const isPercent = percent === '%' || number > MIN_PERCENT
  if (digits !== undefined && number <= (isPercent ? 100 : 1)) return isPercent ? number / 100 : number
  if (text !== '') notes.push(`${name} ${text} is not from 0 to 1`)
  return null
}

function readChoice(given: unknown, choice: Extract<AnswerField, { type: 'choice' }>): string | null {
  const {
    of,
    words = {},
    unknown,
    missing,
  } = choice as {
    of: readonly string[]
    words?: Record<string, string>
    unknown?: string
    missing?: string
  }
  const word = toIdentifier(readText(given))
  if (word === '') return missing ?? null
  return of.find((each) => toIdentifier(each) === word) ?? (Object.hasOwn(words, word) ? words[word] : unknown) ?? null
}

function readReference(given: unknown, to: readonly string[] | number): string | number | null {
  const number = readNumber(given, true)
  if (typeof to === 'number') return number !== null && number >= 1 && number <= to ? number : null
  const text = readText(given)
  return to.find((name) => name === text) ?? to.find((name) => toIdentifier(name) === toIdentifier(text)) ?? null
}

/** Models write names in their own way: "Changes requested" is `changes_requested`. */
export function toIdentifier(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replaceAll(/^_+|_+$/g, '')
}

/** A list of objects that are those of the example is empty: nobody can tell whether they were meant. */
function withoutCopies<V>(shape: AnswerShape, value: V): V {
  const { fields, example } = shape
  const given = Object.entries(value as Fields).map(([name, each]): [string, unknown] => {
    const field = fields[name]
    const isList = field !== undefined && isListField(field) && Array.isArray(each) && isFields(each[0])
    if (!isList || !example) return [name, each]
    const copied = readFields({ [name]: field }, example as Fields, {
      shape,
      examples: textsIn(example),
      notes: [],
    })
    return [name, JSON.stringify(each) === JSON.stringify(copied[name]) ? [] : each]
  })
  return Object.fromEntries(given) as V
}

/** All texts of an example with more than one word: a single one may be an answer. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.trim().includes(' ') ? [value] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** What several entries say about each key; where they contradict each other, nothing. */
export function agreedValues<K, V>(entries: Iterable<readonly [K, V]>): Map<K, V> {
  const agreed = new Map<K, V>()
  const contradicted = new Set<K>()
  for (const [key, value] of entries) {
    if (agreed.has(key) && agreed.get(key) !== value) contradicted.add(key)
    agreed.set(key, value)
  }
  for (const key of contradicted) agreed.delete(key)
  return agreed
}
