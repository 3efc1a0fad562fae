import { endOfHereDocument, hereDelimiter } from './here-document.ts'
import type { ShellCommand, ShellLine, ShellWord } from './shell-command.ts'

/*
 * The simple commands that a line of shell would run, as far as they can be seen without running it.
 * 1. What is within substitutions, groups and conditions is taken out and listed like the rest.
 * 2. A word whose text depends on anything but the line itself (variables, file names, braces) is opaque.
 * 3. A line that is not fully understood is not clear: whoever forbids something must not trust its list.
 * 4. A line that is more than words, quotes and separators is not plain, and says why: whoever allows a command by a
 *    pattern must not take its list for all that is done. Parentheses, for one, can give a command another meaning.
 */

const DEEPEST = 20

export function readShellLine(text: string): ShellLine {
  const line: ShellLine = { commands: [], clear: true }
  readCommands({ text, at: 0, depth: 0, line, awaited: [] }, false)
  if (!line.clear) line.beyond ??= 'it cannot be taken apart'
  return line
}

interface Cursor {
  text: string
  at: number
  depth: number
  line: ShellLine
  /** Here-documents that begin behind this line. */
  awaited: Awaited[]
}

interface Awaited {
  delimiter: string
  /** Nothing in it is replaced. */
  literal: boolean
  indented: boolean
  command: ShellCommand
}

/** The command that is being read. */
interface Reading {
  command: ShellCommand
  word: ShellWord | undefined
  /** The next word is where something is written to or read from. */
  operator: string | undefined
  /** Parentheses open within this reading. */
  open: number
}

/** Reads to the end, or within a substitution to the parenthesis that ends it. */
function readCommands(cursor: Cursor, inside: boolean): void {
  const reading: Reading = { command: newCommand(), word: undefined, operator: undefined, open: 0 }
  if (cursor.depth > DEEPEST || cursor.awaited.length > 0) cursor.line.clear = false
  for (; cursor.at < cursor.text.length && cursor.depth <= DEEPEST; cursor.at++) {
    const char = cursor.text[cursor.at] ?? ''
    if (char === ')' && inside && reading.open === 0) {
      endCommand(cursor, reading)
      if (cursor.awaited.length > 0) cursor.line.clear = false
      return
    }
    readCharacter(cursor, reading, char)
  }
  endCommand(cursor, reading)
  if (inside || cursor.awaited.length > 0) cursor.line.clear = false
}

function newCommand(): ShellCommand {
  return { words: [], redirections: [], input: [], piped: false }
}

function readCharacter(cursor: Cursor, reading: Reading, char: string): void {
  const { text, at } = cursor
  const next = text[at + 1]
  if (char === ' ' || char === '\t') endWord(reading)
  else if (char === '(' || char === ')') {
    cursor.line.beyond ??= 'it has parentheses'
    endCommand(cursor, reading)
    reading.open = Math.max(0, reading.open + (char === '(' ? 1 : -1))
  } else if (char === '&' && next === '>') {
    endWord(reading)
    cursor.at += text[at + 2] === '>' ? 2 : 1
    reading.operator = '&>'
  } else if ('\n;&|'.includes(char)) {
    reading.command.piped = char === '|' && next !== '|' && text[at - 1] !== '|'
    endCommand(cursor, reading)
    if (char === '\n') readAwaited(cursor)
  } else if (char === '<' || char === '>') redirect(cursor, reading)
  else if (char === '#' && !reading.word) {
    const end = text.indexOf('\n', at)
    cursor.at = end === -1 ? text.length : end - 1
  } else if ((char === '{' || char === '}') && !reading.word && (next === undefined || /[\s;&|)]/.test(next))) {
    cursor.line.beyond ??= 'it has a group in braces'
    endCommand(cursor, reading)
  } else if (char === '\\') escaped(cursor, reading)
  else if (char === "'") singleQuoted(cursor, reading)
  else if (char === '"') doubleQuoted(cursor, reading)
  else if (char === '$') dollar(cursor, reading)
  else if (char === '`') backtick(cursor, reading)
  else put(reading, char, standsForMore(char, reading.word, next))
}

/** What the shell replaces by names of files or by several words. */
function standsForMore(char: string, word: ShellWord | undefined, next = ' '): boolean {
  // The command `[`, and `[[`.
  if (char === '[' && (word === undefined || word.text === '[') && /[\s[]/.test(next)) return false
  if (char === '{' && next === '}') return false
  return '*?[{'.includes(char) || (char === '~' && word === undefined)
}

function put(reading: Reading, text: string, opaque = false): void {
  reading.word ??= { text: '', opaque: false }
  reading.word.text += text
  if (opaque) reading.word.opaque = true
}

function endWord(reading: Reading): void {
  const { word, operator, command } = reading
  reading.word = undefined
  if (!word) return
  reading.operator = undefined
  if (operator === undefined) command.words.push(word)
  else command.redirections.push({ operator, target: word })
}

function endCommand({ line }: Cursor, reading: Reading): void {
  endWord(reading)
  const { command } = reading
  // Its lone parentheses would end a substitution too early for us.
  if (command.words.some(({ text }) => text === 'case')) line.clear = false
  if (command.words.length > 0 || command.redirections.length > 0) line.commands.push(command)
  reading.command = newCommand()
  reading.operator = undefined
}

function escaped(cursor: Cursor, reading: Reading): void {
  const next = cursor.text[++cursor.at]
  if (next === undefined) cursor.line.clear = false
  else if (next !== '\n') put(reading, next)
}

function singleQuoted(cursor: Cursor, reading: Reading): void {
  const end = cursor.text.indexOf("'", cursor.at + 1)
  if (end === -1) cursor.line.clear = false
  put(reading, cursor.text.slice(cursor.at + 1, end === -1 ? undefined : end))
  cursor.at = end === -1 ? cursor.text.length : end
}

function doubleQuoted(cursor: Cursor, reading: Reading): void {
  put(reading, '')
  for (cursor.at++; cursor.at < cursor.text.length; cursor.at++) {
    const char = cursor.text[cursor.at] ?? ''
    if (char === '"') return
    if (char === '\\' && /["\\$`\n]/.test(cursor.text[cursor.at + 1] ?? '')) escaped(cursor, reading)
    else if (char === '$') dollar(cursor, reading)
    else if (char === '`') backtick(cursor, reading)
    else put(reading, char)
  }
  cursor.line.clear = false
}

const PLAIN_VARIABLE = /\$\{[A-Za-z_]\w*\}/y
/** With another text where it is empty, or without its beginning or end. */
const FORMED_VARIABLE = /\$\{(#\w+|\w+(:?[-+=?]|%%?|##?)[^${}`'"\\[\]()]*)\}/y

function dollar(cursor: Cursor, reading: Reading): void {
  const { text, at, line } = cursor
  put(reading, '$', true)
  const next = text[at + 1]
  if (next === '(') {
    line.beyond ??= 'it has a substitution'
    cursor.at += 2
    substituted(cursor)
  } else if (next === '{') {
    const plain = matchAt(PLAIN_VARIABLE, text, at)
    if (plain === undefined) line.beyond ??= 'it has a variable with more than a name in braces'
    const whole = plain ?? matchAt(FORMED_VARIABLE, text, at)
    if (whole === undefined) line.clear = false
    else cursor.at += whole.length - 1
  } else if (next === "'" || next === '[') line.clear = false
}

function matchAt(expression: RegExp, text: string, at: number): string | undefined {
  expression.lastIndex = at
  return expression.exec(text)?.[0]
}

function substituted(cursor: Cursor): void {
  cursor.depth++
  readCommands(cursor, true)
  cursor.depth--
}

function backtick(cursor: Cursor, reading: Reading): void {
  put(reading, '`', true)
  cursor.line.beyond ??= 'it has a substitution'
  let inner = ''
  for (cursor.at++; cursor.at < cursor.text.length && cursor.text[cursor.at] !== '`'; cursor.at++) {
    const isEscape = cursor.text[cursor.at] === '\\' && /[\\`$]/.test(cursor.text[cursor.at + 1] ?? '')
    if (isEscape) cursor.at++
    inner += cursor.text[cursor.at] ?? ''
  }
  if (cursor.at >= cursor.text.length) cursor.line.clear = false
  readCommands({ text: inner, at: 0, depth: cursor.depth + 1, line: cursor.line, awaited: [] }, false)
}

const OPERATOR = /<<<|<>|<&|<<-?|>>|>&|>\||[<>]/y

function redirect(cursor: Cursor, reading: Reading): void {
  const { text, at, line } = cursor
  // The number of a stream, as in `2>`.
  if (reading.word && !reading.word.opaque && /^\d+$/.test(reading.word.text)) reading.word = undefined
  endWord(reading)
  if (text[at + 1] === '(') {
    line.beyond ??= 'it has a substitution'
    put(reading, '<', true)
    cursor.at += 2
    substituted(cursor)
    return
  }
  const operator = matchAt(OPERATOR, text, at) ?? ''
  cursor.at += operator.length - 1
  if (operator === '<<' || operator === '<<-') awaitHere(cursor, reading.command, operator)
  else reading.operator = operator
}

function awaitHere(cursor: Cursor, command: ShellCommand, operator: string): void {
  cursor.line.beyond ??= 'it has a here-document'
  const found = hereDelimiter(cursor.text, cursor.at + 1)
  if (found === undefined) {
    cursor.line.clear = false
    return
  }
  const { delimiter, literal, end } = found
  cursor.at = end - 1
  cursor.awaited.push({ delimiter, literal, indented: operator === '<<-', command })
}

/** Behind the end of a line stand the texts of its here-documents: data, but for what is replaced in them. */
function readAwaited(cursor: Cursor): void {
  for (const { delimiter, literal, indented, command } of cursor.awaited.splice(0)) {
    const from = cursor.at + 1
    const end = endOfHereDocument(cursor.text, from, { delimiter, indented })
    const body = cursor.text.slice(from, end.body)
    command.input.push(body)
    // Lines that are joined could make up the word that ends it.
    if (!end.found || (!literal && body.includes('\\\n'))) cursor.line.clear = false
    if (!literal) readReplaced(cursor, body)
    cursor.at = end.next - 1
  }
}

/** What the shell replaces in a text: as between double quotes, where those themselves are nothing special. */
function readReplaced({ depth, line }: Cursor, text: string): void {
  const inner: Cursor = { text, at: 0, depth: depth + 1, line, awaited: [] }
  const reading: Reading = { command: newCommand(), word: undefined, operator: undefined, open: 0 }
  if (inner.depth > DEEPEST) line.clear = false
  for (; inner.at < text.length && inner.depth <= DEEPEST; inner.at++) {
    const char = text[inner.at] ?? ''
    if (char === '\\') inner.at++
    else if (char === '$') dollar(inner, reading)
    else if (char === '`') backtick(inner, reading)
  }
}
