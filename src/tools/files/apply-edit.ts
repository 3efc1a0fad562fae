import type { ChangePreview, ToolCall, ToolResult } from '../../kernel/tool.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { FileChange, FileToolDeps, PreviousContent } from './change-file.ts'
import { changeFile, previewChange } from './change-file.ts'
import { decodeUtf8Strict } from './detect-content.ts'
import { findPlaceholder } from './redacted-values.ts'

export interface EditInput {
  file_path: string
  old_string: string
  new_string: string
  replace_all?: boolean | undefined
}

export function editFile(deps: FileToolDeps, request: EditInput, call: ToolCall): Promise<ToolResult> {
  return changeFile(deps, { file_path: request.file_path, call }, (before) => applyEdit(request, before))
}

export function previewEdit(deps: FileToolDeps, request: EditInput): Promise<ChangePreview> {
  return previewChange(deps, request.file_path, (before) => applyEdit(request, before))
}

function applyEdit(request: EditInput, before: PreviousContent): FileChange {
  const { file_path, replace_all } = request
  if (!before) throw invalidCallError(`\`file_path\` '${file_path}' does not exist`, 'create it with Write')
  const text = decodeUtf8Strict(before.bytes)
  if (text === undefined || text.includes('\0')) {
    throw invalidCallError(
      `\`file_path\` '${file_path}' is not UTF-8 text`,
      'Edit would corrupt it; use Bash with a suitable program',
    )
  }
  if (request.old_string === request.new_string)
    throw invalidCallError('`old_string` and `new_string` are identical', 'write the replacement into `new_string`')
  const [oldText, newText] = withFileLineEndings(text, request)
  const parts = text.split(oldText)
  const count = parts.length - 1
  if (count === 0) throw notFoundError(request)
  if (count > 1 && !replace_all) {
    const hint = 'add surrounding lines until it is unique, or set `replace_all`'
    throw invalidCallError(
      `\`old_string\` occurs ${count} times in '${file_path}': ${formatLineNumbers(parts, oldText)}`,
      hint,
    )
  }
  const times = count === 1 ? 'once' : `${count} times`
  return { content: Buffer.from(parts.join(newText)), summary: `Edited ${file_path}: replaced ${times}.` }
}

function notFoundError({ file_path, old_string }: EditInput): Error {
  const placeholder = findPlaceholder(old_string)
  if (placeholder === undefined)
    return invalidCallError(
      `\`old_string\` was not found in '${file_path}'`,
      'read the file again and copy the text exactly',
    )
  return invalidCallError(
    `\`old_string\` was not found in '${file_path}': it has ${placeholder}, which stands for a value that you cannot see`,
    'leave out the value: put only the text before or after it into `old_string` and `new_string`',
  )
}

/** `Read` strips carriage returns, so the model's text has none; in a CRLF file both texts are converted. */
function withFileLineEndings(text: string, { old_string, new_string }: EditInput): [oldText: string, newText: string] {
  if (text.includes(old_string) || !text.includes('\r\n')) return [old_string, new_string]
  return [toCrlf(old_string), toCrlf(new_string)]
}

function toCrlf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n')
}

function formatLineNumbers(parts: readonly string[], oldText: string): string {
  const height = oldText.split('\n').length - 1
  let line = 1
  const lines = parts.slice(0, -1).map((part) => {
    line += part.split('\n').length - 1
    const first = line
    line += height
    return first
  })
  const shown = lines.slice(0, 10).join(', ')
  return lines.length > 10 ? `lines ${shown} and more` : `lines ${shown}`
}
