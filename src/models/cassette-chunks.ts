import type { Replacement } from '../judgement/redaction/known-values.ts'
import { replaceRanges } from '../judgement/redaction/known-values.ts'
import type { ModelChunk } from '../kernel/model.ts'
import { mapStrings } from './cassette-request.ts'

/*
 * A secret or an id may be split across several streamed chunks, where no single chunk matches it. Consecutive text chunks
 * are therefore searched as one text; their number and order stay the same.
 */

type TextChunk = Extract<ModelChunk, { type: 'text' | 'reasoning' }>

/** Applies the replacements of `find` to the text chunks, and `field` to tool inputs and provider metadata. */
export function replaceInChunks(
  chunks: readonly ModelChunk[],
  find: (text: string) => readonly Replacement[],
  field: (value: unknown) => unknown = (value) => mapStrings(value, (text) => replaceRanges(text, find(text))),
): ModelChunk[] {
  const changed: ModelChunk[] = []
  for (let index = 0; index < chunks.length; ) {
    const chunk = chunks[index] as ModelChunk
    if (chunk.type !== 'text' && chunk.type !== 'reasoning') {
      changed.push(chunk.type === 'tool-call' ? replaceInToolCall(chunk, field) : chunk)
      index += 1
      continue
    }
    const length = chunks.slice(index).findIndex((next) => next.type !== chunk.type)
    const end = length < 0 ? chunks.length : index + length
    changed.push(...replaceInTextChunks(chunks.slice(index, end) as TextChunk[], find, field))
    index = end
  }
  return changed
}

function replaceInToolCall(
  call: Extract<ModelChunk, { type: 'tool-call' }>,
  field: (value: unknown) => unknown,
): ModelChunk {
  return {
    ...call,
    input: field(call.input),
    // The original message quotes the arguments, and a truncated secret would not be recognised.
    ...(call.invalid === undefined ? undefined : { invalid: 'the arguments are not JSON' }),
    ...(call.provider === undefined ? undefined : { provider: field(call.provider) }),
  }
}

function replaceInTextChunks(
  chunks: readonly TextChunk[],
  find: (text: string) => readonly Replacement[],
  field: (value: unknown) => unknown,
): TextChunk[] {
  const pieces = replaceAcrossPieces(
    chunks.map(({ text }) => text),
    find(chunks.map(({ text }) => text).join('')),
  )
  return chunks.map((chunk, index) => {
    const text = pieces[index] ?? ''
    if (chunk.type === 'text' || chunk.provider === undefined) return { ...chunk, text }
    return { ...chunk, text, provider: field(chunk.provider) }
  })
}

/** Puts each replacement into the piece where the replaced text begins and removes the rest of it from later pieces. */
export function replaceAcrossPieces(pieces: readonly string[], replacements: readonly Replacement[]): string[] {
  if (replacements.length === 0) return [...pieces]
  let offset = 0
  return pieces.map((piece) => {
    const pieceStart = offset
    const pieceEnd = offset + piece.length
    offset = pieceEnd
    const overlapping = replacements
      .filter(({ start, end }) => start < pieceEnd && end > pieceStart)
      .map(({ start, end, text }) => ({
        start: Math.max(start, pieceStart) - pieceStart,
        end: Math.min(end, pieceEnd) - pieceStart,
        text: start >= pieceStart ? text : '',
      }))
    return replaceRanges(piece, overlapping)
  })
}
