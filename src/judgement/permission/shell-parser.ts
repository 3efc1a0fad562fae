import { findHereDocumentEnd, parseHereDelimiter } from './here-document.ts'
import type { ShellCommand, ShellLine, ShellWord } from './shell-command.ts'

/*
 * The simple commands that a line of shell would run, as far as they can be seen without running it.
 * 1. What is within substitutions, groups and conditions is taken out and listed like the rest.
 * 2. A word whose text depends on anything but the line itself (variables, file names, braces) is opaque.
 * 3. A line that is not fully understood is not clear: whoever forbids something must not trust its list.
 * 4. A line that is more than words, quotes and separators is not plain, and says why: whoever allows a command by a
 *    pattern must not take its list for all that is done. Parentheses, for one, can give a command another meaning.
 */

const MAX_DEPTH = 20

export function parseShellLine(text: string): ShellLine {
  const line: ShellLine = { commands: [], fullyParsed: true }
  parseCommands({ text, at: 0, depth: 0, line, pendingHereDocuments: [] }, false)
  if (!line.fullyParsed) line.unsupportedSyntax ??= 'it cannot be taken apart'
  return line
}

interface Cursor {
  text: string
  at: number
  depth: number
  line: ShellLine
  /** Here-documents that begin behind this line. */
  pendingHereDocuments: PendingHereDocument[]
}

interface PendingHereDocument {
  delimiter: string
  /** Nothing in it is replaced. */
  literal: boolean
  indented: boolean
  command: ShellCommand
}

/** The command that is being read. */
interface CommandBuilder {
  command: ShellCommand
  word: ShellWord | undefined
  /** The next word is where something is written to or read from. */
  operator: string | undefined
  /** Parentheses open within this reading. */
  openParentheses: number
}

/** Reads to the end, or within a substitution to the parenthesis that ends it. */
function parseCommands(cursor: Cursor, inside: boolean): void {
  const reading: CommandBuilder = { command: emptyCommand(), word: undefined, operator: undefined, openParentheses: 0 }
  if (cursor.depth > MAX_DEPTH || cursor.pendingHereDocuments.length > 0) cursor.line.fullyParsed = false
  for (; cursor.at < cursor.text.length && cursor.depth <= MAX_DEPTH; cursor.at++) {
    const char = cursor.text[cursor.at] ?? ''
    if (char === ')' && inside && reading.openParentheses === 0) {
      endCommand(cursor, reading)
      if (cursor.pendingHereDocuments.length > 0) cursor.line.fullyParsed = false
      return
    }
    parseCharacter(cursor, reading, char)
  }
  endCommand(cursor, reading)
  if (inside || cursor.pendingHereDocuments.length > 0) cursor.line.fullyParsed = false
}

function emptyCommand(): ShellCommand {
  return { words: [], redirections: [], stdin: [], piped: false }
}

function parseCharacter(cursor: Cursor, reading: CommandBuilder, char: string): void {
  const { text, at } = cursor
  const next = text[at + 1]
  if (char === ' ' || char === '\t') endWord(reading)
  else if (char === '(' || char === ')') {
    cursor.line.unsupportedSyntax ??= 'it has parentheses'
    endCommand(cursor, reading)
    reading.openParentheses = Math.max(0, reading.openParentheses + (char === '(' ? 1 : -1))
  } else if (char === '&' && next === '>') {
    endWord(reading)
    cursor.at += text[at + 2] === '>' ? 2 : 1
    reading.operator = '&>'
  } else if ('\n;&|'.includes(char)) {
    reading.command.piped = char === '|' && next !== '|' && text[at - 1] !== '|'
    endCommand(cursor, reading)
    if (char === '\n') readHereDocuments(cursor)
  } else if (char === '<' || char === '>') parseRedirection(cursor, reading)
  else if (char === '#' && !reading.word) {
    const end = text.indexOf('\n', at)
    cursor.at = end === -1 ? text.length : end - 1
  } else if ((char === '{' || char === '}') && !reading.word && (next === undefined || /[\s;&|)]/.test(next))) {
    cursor.line.unsupportedSyntax ??= 'it has a group in braces'
    endCommand(cursor, reading)
  } else if (char === '\\') parseEscape(cursor, reading)
  else if (char === "'") parseSingleQuotes(cursor, reading)
  else if (char === '"') parseDoubleQuotes(cursor, reading)
  else if (char === '$') parseDollar(cursor, reading)
  else if (char === '`') parseBackticks(cursor, reading)
  else appendText(reading, char, isExpansion(char, reading.word, next))
}

/** What the shell replaces by names of files or by several words. */
function isExpansion(char: string, word: ShellWord | undefined, next = ' '): boolean {
  // The command `[`, and `[[`.
  if (char === '[' && (word === undefined || word.text === '[') && /[\s[]/.test(next)) return false
  if (char === '{' && next === '}') return false
  return '*?[{'.includes(char) || (char === '~' && word === undefined)
}

function appendText(reading: CommandBuilder, text: string, opaque = false): void {
  reading.word ??= { text: '', opaque: false }
  reading.word.text += text
  if (opaque) reading.word.opaque = true
}

function endWord(reading: CommandBuilder): void {
  const { word, operator, command } = reading
  reading.word = undefined
  if (!word) return
  reading.operator = undefined
  if (operator === undefined) command.words.push(word)
  else command.redirections.push({ operator, target: word })
}

function endCommand({ line }: Cursor, reading: CommandBuilder): void {
  endWord(reading)
  const { command } = reading
  // Its lone parentheses would end a substitution too early for us.
  if (command.words.some(({ text }) => text === 'case')) line.fullyParsed = false
  if (command.words.length > 0 || command.redirections.length > 0) line.commands.push(command)
  reading.command = emptyCommand()
  reading.operator = undefined
}

function parseEscape(cursor: Cursor, reading: CommandBuilder): void {
  const next = cursor.text[++cursor.at]
  if (next === undefined) cursor.line.fullyParsed = false
  else if (next !== '\n') appendText(reading, next)
}

function parseSingleQuotes(cursor: Cursor, reading: CommandBuilder): void {
  const end = cursor.text.indexOf("'", cursor.at + 1)
  if (end === -1) cursor.line.fullyParsed = false
  appendText(reading, cursor.text.slice(cursor.at + 1, end === -1 ? undefined : end))
  cursor.at = end === -1 ? cursor.text.length : end
}

function parseDoubleQuotes(cursor: Cursor, reading: CommandBuilder): void {
  appendText(reading, '')
  for (cursor.at++; cursor.at < cursor.text.length; cursor.at++) {
    const char = cursor.text[cursor.at] ?? ''
    if (char === '"') return
    if (char === '\\' && /["\\$`\n]/.test(cursor.text[cursor.at + 1] ?? '')) parseEscape(cursor, reading)
    else if (char === '$') parseDollar(cursor, reading)
    else if (char === '`') parseBackticks(cursor, reading)
    else appendText(reading, char)
  }
  cursor.line.fullyParsed = false
}

const PLAIN_VARIABLE = /\$\{[A-Za-z_]\w*\}/y
/** With another text where it is empty, or without its beginning or end. */
const PARAMETER_EXPANSION = /\$\{(#\w+|\w+(:?[-+=?]|%%?|##?)[^${}`'"\\[\]()]*)\}/y

function parseDollar(cursor: Cursor, reading: CommandBuilder): void {
  const { text, at, line } = cursor
  appendText(reading, '$', true)
  const next = text[at + 1]
  if (next === '(') {
    line.unsupportedSyntax ??= 'it has a substitution'
    cursor.at += 2
    parseSubstitution(cursor)
  } else if (next === '{') {
    const plain = matchAt(PLAIN_VARIABLE, text, at)
    if (plain === undefined) line.unsupportedSyntax ??= 'it has a variable with more than a name in braces'
    const whole = plain ?? matchAt(PARAMETER_EXPANSION, text, at)
    if (whole === undefined) line.fullyParsed = false
    else cursor.at += whole.length - 1
  } else if (next === "'" || next === '[') line.fullyParsed = false
}

function matchAt(expression: RegExp, text: string, at: number): string | undefined {
  expression.lastIndex = at
  return expression.exec(text)?.[0]
}

function parseSubstitution(cursor: Cursor): void {
  cursor.depth++
  parseCommands(cursor, true)
  cursor.depth--
}

function parseBackticks(cursor: Cursor, reading: CommandBuilder): void {
  appendText(reading, '`', true)
  cursor.line.unsupportedSyntax ??= 'it has a substitution'
  let inner = ''
  for (cursor.at++; cursor.at < cursor.text.length && cursor.text[cursor.at] !== '`'; cursor.at++) {
    const isEscape = cursor.text[cursor.at] === '\\' && /[\\`$]/.test(cursor.text[cursor.at + 1] ?? '')
    if (isEscape) cursor.at++
    inner += cursor.text[cursor.at] ?? ''
  }
  if (cursor.at >= cursor.text.length) cursor.line.fullyParsed = false
  parseCommands({ text: inner, at: 0, depth: cursor.depth + 1, line: cursor.line, pendingHereDocuments: [] }, false)
}

const OPERATOR = /<<<|<>|<&|<<-?|>>|>&|>\||[<>]/y

function parseRedirection(cursor: Cursor, reading: CommandBuilder): void {
  const { text, at, line } = cursor
  // The number of a stream, as in `2>`.
  if (reading.word && !reading.word.opaque && /^\d+$/.test(reading.word.text)) reading.word = undefined
  endWord(reading)
  if (text[at + 1] === '(') {
    line.unsupportedSyntax ??= 'it has a substitution'
    appendText(reading, '<', true)
    cursor.at += 2
    parseSubstitution(cursor)
    return
  }
  const operator = matchAt(OPERATOR, text, at) ?? ''
  cursor.at += operator.length - 1
  if (operator === '<<' || operator === '<<-') queueHereDocument(cursor, reading.command, operator)
  else reading.operator = operator
}

function queueHereDocument(cursor: Cursor, command: ShellCommand, operator: string): void {
  cursor.line.unsupportedSyntax ??= 'it has a here-document'
  const found = parseHereDelimiter(cursor.text, cursor.at + 1)
  if (found === undefined) {
    cursor.line.fullyParsed = false
    return
  }
  const { delimiter, literal, end } = found
  cursor.at = end - 1
  cursor.pendingHereDocuments.push({ delimiter, literal, indented: operator === '<<-', command })
}

/** Behind the end of a line stand the texts of its here-documents: data, but for what is replaced in them. */
function readHereDocuments(cursor: Cursor): void {
  for (const { delimiter, literal, indented, command } of cursor.pendingHereDocuments.splice(0)) {
    const from = cursor.at + 1
    const end = findHereDocumentEnd(cursor.text, from, { delimiter, indented })
    const body = cursor.text.slice(from, end.body)
    command.stdin.push(body)
    // Lines that are joined could make up the word that ends it.
    if (!end.found || (!literal && body.includes('\\\n'))) cursor.line.fullyParsed = false
    if (!literal) parseExpansions(cursor, body)
    cursor.at = end.next - 1
  }
}

/** What the shell replaces in a text: as between double quotes, where those themselves are nothing special. */
function parseExpansions({ depth, line }: Cursor, text: string): void {
  const inner: Cursor = { text, at: 0, depth: depth + 1, line, pendingHereDocuments: [] }
  const reading: CommandBuilder = { command: emptyCommand(), word: undefined, operator: undefined, openParentheses: 0 }
  if (inner.depth > MAX_DEPTH) line.fullyParsed = false
  for (; inner.at < text.length && inner.depth <= MAX_DEPTH; inner.at++) {
    const char = text[inner.at] ?? ''
    if (char === '\\') inner.at++
    else if (char === '$') parseDollar(inner, reading)
    else if (char === '`') parseBackticks(inner, reading)
  }
}
