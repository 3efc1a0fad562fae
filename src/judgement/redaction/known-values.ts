/*
 * Finds values that are known to be secret, as they are and in the encodings in which servers echo them: base64 (also inside
 * longer data), hexadecimal, percent encoding and JSON escapes.
 * Linear: every form of every value is one search through the text.
 */

/** Where a known value stands in a text. */
export interface KnownValue {
  start: number
  end: number
}

/** A range of a text and the text that replaces it. */
export interface Replacement extends KnownValue {
  text: string
}

/** Shorter values also occur as ordinary words, and their encodings as parts of other data. */
export const MIN_SECRET_LENGTH = 8

interface KnownForm {
  text: string
  /** The characters of base64 at both ends that hold bits of the value together with bits of its neighbours. */
  partial: { before: number; after: number }
}

const WHOLE = { before: 0, after: 0 }
const BASE64_CHARACTER = /[A-Za-z0-9+/_-]/
const MAX_PADDING = 2

const formsByValues = new WeakMap<readonly string[], readonly KnownForm[]>()

/** All occurrences of the values and of their encodings; they may overlap. */
export function findKnownValues(text: string, values: readonly string[]): KnownValue[] {
  const forms = formsByValues.get(values) ?? values.flatMap(knownForms)
  formsByValues.set(values, forms)
  return forms.flatMap((form) => {
    const found: KnownValue[] = []
    for (let index = text.indexOf(form.text); index >= 0; ) {
      const end = index + form.text.length
      found.push(form.partial === WHOLE ? { start: index, end } : extendBase64(text, { start: index, end }, form))
      index = text.indexOf(form.text, end)
    }
    return found
  })
}

/** Replaces the values and their encodings. */
export function replaceKnownValues(text: string, values: readonly string[], replacement: string): string {
  const found = findKnownValues(text, values).sort((a, b) => a.start - b.start)
  return replaceRanges(
    text,
    found.map((range) => ({ ...range, text: replacement })),
  )
}

/** Replaces ranges of a text, in order. Of ranges that overlap, the first one is replaced and the others are left out with it. */
export function replaceRanges(text: string, ranges: readonly Replacement[]): string {
  let [result, from] = ['', 0]
  for (const { start, end, text: replacement } of ranges) {
    if (start >= from) result += text.slice(from, start) + replacement
    from = Math.max(from, end)
  }
  return result + text.slice(from)
}

/** Includes the partial characters and the padding. */
function extendBase64(text: string, { start, end }: KnownValue, { partial }: KnownForm): KnownValue {
  const from = BASE64_CHARACTER.test(text.charAt(start - 1)) ? start - partial.before : start
  let to = BASE64_CHARACTER.test(text.charAt(end)) ? end + partial.after : end
  for (let padding = 0; padding < MAX_PADDING && text.charAt(to) === '='; padding++) to++
  return { start: from, end: to }
}

function knownForms(value: string): KnownForm[] {
  if (value === '') return []
  if (value.length < MIN_SECRET_LENGTH) return [{ text: value, partial: WHOLE }]
  const bytes = new TextEncoder().encode(value)
  const whole = [value, ...hexForms(bytes), ...percentForms(value, bytes), ...jsonForms(value)]
  return [
    ...[...new Set(whole)].map((text) => ({ text, partial: WHOLE })),
    ...[0, 1, 2].flatMap((offset) => base64Forms(bytes, offset)),
  ]
}

/** The characters of base64 that depend on the value alone when `offset` bytes precede it in its group of three. */
function base64Forms(bytes: Uint8Array, offset: number): KnownForm[] {
  const encoded = btoa('\0'.repeat(offset) + Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  const bits = (offset + bytes.length) * 8
  const text = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(bits / 6))
  const partial = { before: offset === 0 ? 0 : 1, after: bits % 6 === 0 ? 0 : 1 }
  const urlSafe = text.replaceAll('+', '-').replaceAll('/', '_')
  return [...new Set([text, urlSafe, ...percentSpellings(encodeURIComponent(text))])].map((form) => ({
    text: form,
    partial,
  }))
}

function hexForms(bytes: Uint8Array): string[] {
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex, hex.toUpperCase()]
}

function percentForms(value: string, bytes: Uint8Array): string[] {
  const component = encodeURIComponent(value.toWellFormed())
  const strict = component.replace(/[!'()*~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  const everyByte = [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  const forms = [component, strict, strict.replaceAll('%20', '+'), encodeURIComponent(component), everyByte]
  return forms.flatMap(percentSpellings)
}

/** The digits of percent encoding in capital and in small letters. */
function percentSpellings(text: string): string[] {
  return [text, text.replace(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase())]
}

function jsonForms(value: string): string[] {
  const escapeOnce = (text: string) => JSON.stringify(text).slice(1, -1)
  const once = escapeOnce(value)
  const units = value.split('').map((character) => character.charCodeAt(0).toString(16).padStart(4, '0'))
  const unicode = units.map((unit) => `\\u${unit}`).join('')
  const upper = units.map((unit) => `\\u${unit.toUpperCase()}`).join('')
  return [once, once.replaceAll('/', '\\/'), escapeOnce(once), unicode, upper]
}
