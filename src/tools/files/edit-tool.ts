import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { FileChange, PreviousContent } from './change-file.ts'
import { changeFile, recoverChange } from './change-file.ts'
import { decodeUtf8Strict } from './detect-content.ts'
import type { FileToolDeps } from './file-tool-deps.ts'
import { resolveRelativePath } from './resolve-path.ts'

const input = z.object({
  file_path: z.string().min(1).describe('The file, relative to the workspace.'),
  old_string: z.string().min(1).describe('The text to replace, exactly as it stands, without line numbers.'),
  new_string: z.string().describe('What to put in its place.'),
  replace_all: z.boolean().optional().describe('Replace every occurrence instead of the only one.'),
})

type Input = z.output<typeof input>

/** Replaces a piece of text that stands in a file exactly once. */
export function editTool(tools: FileToolDeps): Tool {
  return defineTool<Input>({
    name: 'Edit',
    description:
      'Replace text in a file of the workspace that you have read. The old text has to stand there exactly once, unless ' +
      'replace_all is given: add lines around it until it is unique.',
    category: 'action',
    kind: 'act',
    edits: true,
    input,
    subject: ({ file_path }) => resolveRelativePath(tools.workspace, file_path),
    execute: (request, call) => changeFile(tools, request.file_path, call, (before) => applyEdit(request, before)),
    recover: ({ file_path }, call) => recoverChange(tools, file_path, call),
  })
}

function applyEdit(request: Input, before: PreviousContent): FileChange {
  const { file_path, replace_all } = request
  if (!before) throw invalidCallError(`there is no '${file_path}' to edit`, 'write it with Write')
  const text = decodeUtf8Strict(before.bytes)
  if (text === undefined || text.includes('\0')) {
    throw invalidCallError(
      `'${file_path}' is not UTF-8 text`,
      'an edit would damage it; use Bash with a fitting program',
    )
  }
  if (request.old_string === request.new_string) throw invalidCallError('old_string and new_string are the same')
  const [old, fresh] = withFileLineEndings(text, request)
  const parts = text.split(old)
  const count = parts.length - 1
  if (count === 0) {
    throw invalidCallError(
      `the text to replace does not stand in '${file_path}'`,
      'read the file again and copy it exactly',
    )
  }
  if (count > 1 && !replace_all) {
    const hint = 'add lines around it until it is unique, or set replace_all'
    throw invalidCallError(
      `the text to replace stands ${count} times in '${file_path}': ${formatLineNumbers(parts, old)}`,
      hint,
    )
  }
  const times = count === 1 ? 'once' : `${count} times`
  return { content: Buffer.from(parts.join(fresh)), summary: `Edited ${file_path}: replaced ${times}.` }
}

/** Read shows lines without carriage returns, so the model's text has none; the file keeps its own line ends. */
function withFileLineEndings(text: string, { old_string, new_string }: Input): [old: string, fresh: string] {
  if (text.includes(old_string) || !text.includes('\r\n')) return [old_string, new_string]
  return [toCrlf(old_string), toCrlf(new_string)]
}

function toCrlf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n')
}

function formatLineNumbers(parts: readonly string[], old: string): string {
  const height = old.split('\n').length - 1
  let line = 1
  const lines = parts.slice(0, -1).map((part) => {
    line += part.split('\n').length - 1
    const at = line
    line += height
    return at
  })
  const shown = lines.slice(0, 10).join(', ')
  return lines.length > 10 ? `lines ${shown} and more` : `lines ${shown}`
}
