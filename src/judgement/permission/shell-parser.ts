import { findHereDocumentEnd, parseHereDelimiter } from './here-document.ts'
import type { ShellCommand, ShellLine, ShellWord } from './shell-command.ts'

/*
 * Parses a shell line into the simple commands it would run, without running it.
 * 1. Commands inside substitutions, groups and conditions are listed like the others.
 * 2. A word whose value depends on anything but the line itself (variables, file names, braces) is opaque.
 * 3. `fullyParsed` is false when the line was not understood completely: a deny rule must not trust the command list.
 * 4. `unsupportedSyntax` is set when the line has more than words, quotes and separators: an allow rule must not trust
 *    the command list, because parentheses, for example, can redefine a command.
 */

const MAX_DEPTH = 20

export function parseShellLine(text: string): ShellLine {
  const line: ShellLine = { commands: [], fullyParsed: true }
  parseCommands({ text, position: 0, depth: 0, line, pendingHereDocuments: [] }, false)
  if (!line.fullyParsed) line.unsupportedSyntax ??= 'it cannot be parsed completely'
  return line
}

interface Cursor {
  text: string
  position: number
  depth: number
  line: ShellLine
  /** Here-documents whose bodies begin after the next newline. */
  pendingHereDocuments: PendingHereDocument[]
}

interface PendingHereDocument {
  delimiter: string
  /** The shell expands nothing in the body. */
  literal: boolean
  indented: boolean
  command: ShellCommand
}

interface CommandBuilder {
  command: ShellCommand
  word: ShellWord | undefined
  /** A pending redirection operator: the next word is its target. */
  operator: string | undefined
  openParentheses: number
}

/** Parses to the end of the text, or inside a substitution to its closing parenthesis. */
function parseCommands(cursor: Cursor, inSubstitution: boolean): void {
  const builder: CommandBuilder = { command: emptyCommand(), word: undefined, operator: undefined, openParentheses: 0 }
  if (cursor.depth > MAX_DEPTH || cursor.pendingHereDocuments.length > 0) cursor.line.fullyParsed = false
  for (; cursor.position < cursor.text.length && cursor.depth <= MAX_DEPTH; cursor.position++) {
    const char = cursor.text[cursor.position] ?? ''
    if (char === ')' && inSubstitution && builder.openParentheses === 0) {
      endCommand(cursor, builder)
      if (cursor.pendingHereDocuments.length > 0) cursor.line.fullyParsed = false
      return
    }
    parseCharacter(cursor, builder, char)
  }
  endCommand(cursor, builder)
  if (inSubstitution || cursor.pendingHereDocuments.length > 0) cursor.line.fullyParsed = false
}

function emptyCommand(): ShellCommand {
  return { words: [], redirections: [], stdin: [], piped: false }
}

function parseCharacter(cursor: Cursor, builder: CommandBuilder, char: string): void {
  const { text, position } = cursor
  const next = text[position + 1]
  if (char === ' ' || char === '\t') endWord(builder)
  else if (char === '(' || char === ')') {
    cursor.line.unsupportedSyntax ??= 'it contains parentheses'
    endCommand(cursor, builder)
    builder.openParentheses = Math.max(0, builder.openParentheses + (char === '(' ? 1 : -1))
  } else if (char === '&' && next === '>') {
    endWord(builder)
    cursor.position += text[position + 2] === '>' ? 2 : 1
    builder.operator = '&>'
  } else if ('\n;&|'.includes(char)) {
    builder.command.piped = char === '|' && next !== '|' && text[position - 1] !== '|'
    endCommand(cursor, builder)
    if (char === '\n') readHereDocuments(cursor)
  } else if (char === '<' || char === '>') parseRedirection(cursor, builder)
  else if (char === '#' && !builder.word) {
    const end = text.indexOf('\n', position)
    cursor.position = end === -1 ? text.length : end - 1
  } else if ((char === '{' || char === '}') && !builder.word && (next === undefined || /[\s;&|)]/.test(next))) {
    cursor.line.unsupportedSyntax ??= 'it contains a group in braces'
    endCommand(cursor, builder)
  } else if (char === '\\') parseEscape(cursor, builder)
  else if (char === "'") parseSingleQuotes(cursor, builder)
  else if (char === '"') parseDoubleQuotes(cursor, builder)
  else if (char === '$') parseDollar(cursor, builder)
  else if (char === '`') parseBackticks(cursor, builder)
  else appendText(builder, char, isExpansion(char, builder.word, next))
}

/** Whether a character starts a glob, brace or tilde expansion. */
function isExpansion(char: string, word: ShellWord | undefined, next = ' '): boolean {
  // The commands `[` and `[[`.
  if (char === '[' && (word === undefined || word.text === '[') && /[\s[]/.test(next)) return false
  if (char === '{' && next === '}') return false
  return '*?[{'.includes(char) || (char === '~' && word === undefined)
}

function appendText(builder: CommandBuilder, text: string, opaque = false): void {
  builder.word ??= { text: '', opaque: false }
  builder.word.text += text
  if (opaque) builder.word.opaque = true
}

function endWord(builder: CommandBuilder): void {
  const { word, operator, command } = builder
  builder.word = undefined
  if (!word) return
  builder.operator = undefined
  if (operator === undefined) command.words.push(word)
  else command.redirections.push({ operator, target: word })
}

function endCommand({ line }: Cursor, builder: CommandBuilder): void {
  endWord(builder)
  const { command } = builder
  // The unbalanced parentheses of `case` patterns would end a substitution too early here.
  if (command.words.some(({ text }) => text === 'case')) line.fullyParsed = false
  if (command.words.length > 0 || command.redirections.length > 0) line.commands.push(command)
  builder.command = emptyCommand()
  builder.operator = undefined
}

function parseEscape(cursor: Cursor, builder: CommandBuilder): void {
  const next = cursor.text[++cursor.position]
  if (next === undefined) cursor.line.fullyParsed = false
  else if (next !== '\n') appendText(builder, next)
}

function parseSingleQuotes(cursor: Cursor, builder: CommandBuilder): void {
  const end = cursor.text.indexOf("'", cursor.position + 1)
  if (end === -1) cursor.line.fullyParsed = false
  appendText(builder, cursor.text.slice(cursor.position + 1, end === -1 ? undefined : end))
  cursor.position = end === -1 ? cursor.text.length : end
}

function parseDoubleQuotes(cursor: Cursor, builder: CommandBuilder): void {
  appendText(builder, '')
  for (cursor.position++; cursor.position < cursor.text.length; cursor.position++) {
    const char = cursor.text[cursor.position] ?? ''
    if (char === '"') return
    if (char === '\\' && /["\\$`\n]/.test(cursor.text[cursor.position + 1] ?? '')) parseEscape(cursor, builder)
    else if (char === '$') parseDollar(cursor, builder)
    else if (char === '`') parseBackticks(cursor, builder)
    else appendText(builder, char)
  }
  cursor.line.fullyParsed = false
}

const PLAIN_VARIABLE = /\$\{[A-Za-z_]\w*\}/y
/** `${x:-default}`, `${x%suffix}`, `${#x}` and the like, without nested expansions. */
const PARAMETER_EXPANSION = /\$\{(#\w+|\w+(:?[-+=?]|%%?|##?)[^${}`'"\\[\]()]*)\}/y

function parseDollar(cursor: Cursor, builder: CommandBuilder): void {
  const { text, position, line } = cursor
  appendText(builder, '$', true)
  const next = text[position + 1]
  if (next === '(') {
    line.unsupportedSyntax ??= 'it contains a substitution'
    cursor.position += 2
    parseSubstitution(cursor)
  } else if (next === '{') {
    const plain = matchAt(PLAIN_VARIABLE, text, position)
    if (plain === undefined) line.unsupportedSyntax ??= 'it contains a parameter expansion in braces'
    const expansion = plain ?? matchAt(PARAMETER_EXPANSION, text, position)
    if (expansion === undefined) line.fullyParsed = false
    else cursor.position += expansion.length - 1
  } else if (next === "'" || next === '[') line.fullyParsed = false
}

function matchAt(expression: RegExp, text: string, position: number): string | undefined {
  expression.lastIndex = position
  return expression.exec(text)?.[0]
}

function parseSubstitution(cursor: Cursor): void {
  cursor.depth++
  parseCommands(cursor, true)
  cursor.depth--
}

function parseBackticks(cursor: Cursor, builder: CommandBuilder): void {
  appendText(builder, '`', true)
  const { text, line, depth } = cursor
  line.unsupportedSyntax ??= 'it contains a substitution'
  let inner = ''
  for (cursor.position++; cursor.position < text.length && text[cursor.position] !== '`'; cursor.position++) {
    const isEscape = text[cursor.position] === '\\' && /[\\`$]/.test(text[cursor.position + 1] ?? '')
    if (isEscape) cursor.position++
    inner += text[cursor.position] ?? ''
  }
  if (cursor.position >= text.length) line.fullyParsed = false
  parseCommands({ text: inner, position: 0, depth: depth + 1, line, pendingHereDocuments: [] }, false)
}

const OPERATOR = /<<<|<>|<&|<<-?|>>|>&|>\||[<>]/y

function parseRedirection(cursor: Cursor, builder: CommandBuilder): void {
  const { text, position, line } = cursor
  // A file descriptor, as in `2>`.
  if (builder.word && !builder.word.opaque && /^\d+$/.test(builder.word.text)) builder.word = undefined
  endWord(builder)
  if (text[position + 1] === '(') {
    line.unsupportedSyntax ??= 'it contains a substitution'
    appendText(builder, '<', true)
    cursor.position += 2
    parseSubstitution(cursor)
    return
  }
  const operator = matchAt(OPERATOR, text, position) ?? ''
  cursor.position += operator.length - 1
  if (operator === '<<' || operator === '<<-') queueHereDocument(cursor, builder.command, operator)
  else builder.operator = operator
}

function queueHereDocument(cursor: Cursor, command: ShellCommand, operator: string): void {
  cursor.line.unsupportedSyntax ??= 'it contains a here-document'
  const parsed = parseHereDelimiter(cursor.text, cursor.position + 1)
  if (parsed === undefined) {
    cursor.line.fullyParsed = false
    return
  }
  const { delimiter, literal, end } = parsed
  cursor.position = end - 1
  cursor.pendingHereDocuments.push({ delimiter, literal, indented: operator === '<<-', command })
}

/** Reads the bodies of pending here-documents, which follow the newline: data, except for expansions in them. */
function readHereDocuments(cursor: Cursor): void {
  for (const { delimiter, literal, indented, command } of cursor.pendingHereDocuments.splice(0)) {
    const start = cursor.position + 1
    const end = findHereDocumentEnd(cursor.text, start, { delimiter, indented })
    const body = cursor.text.slice(start, end.body)
    command.stdin.push(body)
    // Lines joined by a backslash could form the delimiter.
    if (!end.found || (!literal && body.includes('\\\n'))) cursor.line.fullyParsed = false
    if (!literal) parseExpansions(cursor, body)
    cursor.position = end.next - 1
  }
}

/** Parses the expansions in a here-document: as between double quotes, except that a quote is a plain character. */
function parseExpansions({ depth, line }: Cursor, text: string): void {
  const inner: Cursor = { text, position: 0, depth: depth + 1, line, pendingHereDocuments: [] }
  const builder: CommandBuilder = { command: emptyCommand(), word: undefined, operator: undefined, openParentheses: 0 }
  if (inner.depth > MAX_DEPTH) line.fullyParsed = false
  for (; inner.position < text.length && inner.depth <= MAX_DEPTH; inner.position++) {
    const char = text[inner.position] ?? ''
    if (char === '\\') inner.position++
    else if (char === '$') parseDollar(inner, builder)
    else if (char === '`') parseBackticks(inner, builder)
  }
}
