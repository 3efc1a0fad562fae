/*
 * The simple commands that a line of shell would run, as far as they can be seen without running it.
 * 1. What is within substitutions, groups and conditions is taken out and listed like the rest.
 * 2. A word whose text depends on anything but the line itself (variables, file names, braces) is opaque.
 * 3. A line that is not fully understood is not clear: whoever forbids something must not trust its list.
 */

export interface ShellWord {
  /** Without quotes; of an opaque word whatever can be seen. */
  text: string
  opaque: boolean
}

export interface ShellLine {
  commands: ShellWord[][]
  clear: boolean
}

const DEEPEST = 20

export function readShellLine(text: string): ShellLine {
  const line: ShellLine = { commands: [], clear: true }
  readCommands({ text, at: 0, depth: 0, line }, false)
  return line
}

interface Cursor {
  text: string
  at: number
  depth: number
  line: ShellLine
}

/** The command that is being read. */
interface Reading {
  words: ShellWord[]
  word: ShellWord | undefined
  /** The next word is where something is written to or read from. */
  redirected: boolean
  /** Parentheses open within this reading. */
  open: number
}

/** Reads to the end, or within a substitution to the parenthesis that ends it. */
function readCommands(cursor: Cursor, inside: boolean): void {
  const reading: Reading = { words: [], word: undefined, redirected: false, open: 0 }
  if (cursor.depth > DEEPEST) cursor.line.clear = false
  for (; cursor.at < cursor.text.length && cursor.depth <= DEEPEST; cursor.at++) {
    const char = cursor.text[cursor.at] ?? ''
    if (char === ')' && inside && reading.open === 0) {
      endCommand(cursor, reading)
      return
    }
    readCharacter(cursor, reading, char)
  }
  endCommand(cursor, reading)
  if (inside) cursor.line.clear = false
}

function readCharacter(cursor: Cursor, reading: Reading, char: string): void {
  const { text, at } = cursor
  const next = text[at + 1]
  if (char === ' ' || char === '\t') endWord(reading)
  else if (char === '(' || char === ')') {
    endCommand(cursor, reading)
    reading.open = Math.max(0, reading.open + (char === '(' ? 1 : -1))
  } else if (char === '&' && next === '>') {
    endWord(reading)
    cursor.at++
    reading.redirected = true
  } else if ('\n;&|'.includes(char)) endCommand(cursor, reading)
  else if (char === '<' || char === '>') redirect(cursor, reading)
  else if (char === '#' && !reading.word) {
    const end = text.indexOf('\n', at)
    cursor.at = end === -1 ? text.length : end - 1
  } else if ((char === '{' || char === '}') && !reading.word && (next === undefined || /[\s;&|)]/.test(next))) {
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
  return '*?[{'.includes(char) || (char === '~' && word === undefined)
}

function put(reading: Reading, text: string, opaque = false): void {
  reading.word ??= { text: '', opaque: false }
  reading.word.text += text
  if (opaque) reading.word.opaque = true
}

function endWord(reading: Reading): void {
  const { word } = reading
  reading.word = undefined
  if (!word) return
  if (reading.redirected) reading.redirected = false
  else reading.words.push(word)
}

function endCommand({ line }: Cursor, reading: Reading): void {
  endWord(reading)
  // Its lone parentheses would end a substitution too early for us.
  if (reading.words.some(({ text }) => text === 'case')) line.clear = false
  if (reading.words.length > 0) line.commands.push(reading.words)
  reading.words = []
  reading.redirected = false
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

function dollar(cursor: Cursor, reading: Reading): void {
  const { text, at, line } = cursor
  put(reading, '$', true)
  const next = text[at + 1]
  if (next === '(') {
    cursor.at += 2
    substituted(cursor)
  } else if (next === '{') {
    PLAIN_VARIABLE.lastIndex = at
    const plain = PLAIN_VARIABLE.exec(text)
    if (plain) cursor.at += plain[0].length - 1
    else line.clear = false
  } else if (next === "'" || next === '[') line.clear = false
}

function substituted(cursor: Cursor): void {
  cursor.depth++
  readCommands(cursor, true)
  cursor.depth--
}

function backtick(cursor: Cursor, reading: Reading): void {
  put(reading, '`', true)
  let inner = ''
  for (cursor.at++; cursor.at < cursor.text.length && cursor.text[cursor.at] !== '`'; cursor.at++) {
    const isEscape = cursor.text[cursor.at] === '\\' && /[\\`$]/.test(cursor.text[cursor.at + 1] ?? '')
    if (isEscape) cursor.at++
    inner += cursor.text[cursor.at] ?? ''
  }
  if (cursor.at >= cursor.text.length) cursor.line.clear = false
  readCommands({ text: inner, at: 0, depth: cursor.depth + 1, line: cursor.line }, false)
}

const OPERATOR = /<<<|<>|<&|<<|>>|>&|>\||[<>]/y

function redirect(cursor: Cursor, reading: Reading): void {
  const { text, at } = cursor
  // The number of a stream, as in `2>`.
  if (reading.word && !reading.word.opaque && /^\d+$/.test(reading.word.text)) reading.word = undefined
  endWord(reading)
  if (text[at + 1] === '(') {
    put(reading, '<', true)
    cursor.at += 2
    substituted(cursor)
    return
  }
  OPERATOR.lastIndex = at
  const operator = OPERATOR.exec(text)?.[0] ?? ''
  // What follows a here-document is text up to a word of its author's choice.
  if (operator === '<<') cursor.line.clear = false
  cursor.at += operator.length - 1
  reading.redirected = true
}
