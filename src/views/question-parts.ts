import { boundedValue, firstCharacters } from './detail/bounded-value.ts'
import type { PanelBlock } from './panel.ts'

/*
 * The blocks of a question in parts: the beginning of each long one, then the rest on request. Every part can be read, because an approval covers all
 * of it. A block that is too long and is no text becomes its JSON.
 */

const MAX_PART = 200_000
/** For the beginnings of all blocks of a question together; once it is used up, each has still a few lines. */
const MAX_FIRST_PARTS = 1_000_000
const LEAST_PART = 2_000

export interface QuestionPart {
  text: string
  /** Where the next part begins; `null` after the last one. */
  next: number | null
}

/** The blocks as they are, except for long ones, which have their beginning and say what is missing. */
export function firstParts(blocks: readonly PanelBlock[]): PanelBlock[] {
  let left = MAX_FIRST_PARTS
  return blocks.map((block, index) => {
    const max = Math.min(MAX_PART, Math.max(left, LEAST_PART))
    const length = JSON.stringify(block).length
    left -= Math.min(length, max)
    if (length <= max) return block
    // Words of an agent are a claim, and keep their form.
    return block.kind === 'text' ? boundedValue(block) : firstPart(block, index, max)
  })
}

function firstPart(block: PanelBlock, index: number, max: number): PanelBlock {
  const whole = textOf(block)
  const text = firstCharacters(whole, max)
  const rest = { block: index, from: text.length, length: whole.length }
  const missing = text.length < whole.length ? { rest } : undefined
  if (block.kind === 'diff') return { ...block, diff: text, ...missing }
  const { title, context } = block
  const named = { ...(title === undefined ? undefined : { title }), ...(context && { context }) }
  return { kind: 'code', ...named, text, ...missing }
}

/** A part of a block, from a character on; `undefined` if there is no such place. */
export function questionPart(
  blocks: readonly PanelBlock[],
  { block: index, from }: { block: number; from: number },
): QuestionPart | undefined {
  const block = blocks[index]
  const rest = block && textOf(block).slice(from)
  if (!rest) return undefined
  const text = firstCharacters(rest, MAX_PART)
  return { text, next: text.length < rest.length ? from + text.length : null }
}

function textOf(block: PanelBlock): string {
  switch (block.kind) {
    case 'code':
    case 'text':
      return block.text
    case 'diff':
      return block.diff
    case 'facts':
      return block.facts.map(({ label, value }) => `${label}: ${value}`).join('\n')
    case 'json':
      return JSON.stringify(block.value, null, 2) ?? ''
    default:
      return JSON.stringify(block, null, 2)
  }
}
