import { createTwoFilesPatch, OMIT_HEADERS } from 'diff/lib/patch/create.js'

/** Denial of service: the time grows with the square of the edits. Texts with more of them are shown as replaced as a whole. */
const MAX_EDITS = 1_000

/** The diff of two texts as `diff -u` prints it, without the lines that name the files; empty for equal texts. */
export function unifiedDiff(before: string, after: string): string {
  const options = { context: 3, headerOptions: OMIT_HEADERS, maxEditLength: MAX_EDITS }
  const patch = createTwoFilesPatch('', '', before, after, undefined, undefined, options)
  return patch?.slice(0, -1) ?? replacement(before, after)
}

function replacement(before: string, after: string): string {
  const [removed, added] = [toLines(before), toLines(after)]
  const range = ({ length }: string[]) => `${Math.min(1, length)},${length}`
  const lines = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)]
  const text = lines.map((line) => (line.endsWith('\n') ? line.slice(0, -1) : `${line}\n\\ No newline at end of file`))
  return [`@@ -${range(removed)} +${range(added)} @@`, ...text].join('\n')
}

function toLines(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}
