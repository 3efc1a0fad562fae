import type {
  Assignment,
  Command,
  Redirection as ParsedRedirection,
  ParsedScript,
  SyntaxNode,
  Word,
  WordPart,
} from 'unbash'
import { forEachChild, parse } from 'unbash'
import type { Redirection, ShellCommand, ShellLine, ShellWord } from './shell-command.ts'
import { UNKNOWN_WORD } from './shell-command.ts'

/*
 * Lists the simple commands that a shell line would run, without running it, from the syntax tree of `unbash`.
 * 1. Commands inside substitutions, groups, conditions and functions are listed like the others.
 * 2. A word whose value depends on anything but the line itself (variables, file names, braces) is opaque.
 * 3. `fullyParsed` is false when the line was not understood completely: a deny rule must not trust the command list.
 * 4. `unsupportedSyntax` is set when the line has more than words, quotes and separators: an allow rule must not trust
 *    the command list, because a function, for example, can redefine a command.
 */

export function parseShellLine(text: string): ShellLine {
  const line: ShellLine = { commands: [], fullyParsed: true }
  const reader: Reader = { line, piped: new Set(), evaluatesNames: false }
  try {
    if (isTooComplex(text)) line.fullyParsed = false
    else readTree(reader, parse(text))
  } catch {
    // The parser has limits of its own, such as the stack: fail closed.
    line.fullyParsed = false
  }
  // Bash drops a NUL byte, and a backslash at the end joins whatever follows.
  if (text.includes('\0') || /(?<!\\)(\\\\)*\\$/.test(text.slice(-100))) line.fullyParsed = false
  if (reader.evaluatesNames && COMPUTED_VALUE.test(text)) line.fullyParsed = false
  if (!line.fullyParsed) line.unsupportedSyntax ??= 'it cannot be parsed completely'
  return line
}

const MAX_NESTING = 32
const MAX_HERE_DOCUMENTS_PER_LINE = 32

/**
 * Prevents quadratic time: the parser reads on to the end of the text for each bracket that is not closed, and again at each
 * level of nesting. Quotes are not taken into account: whatever looks too complex is.
 */
function isTooComplex(text: string): boolean {
  let [depth, hereDocuments] = [0, 0]
  for (let index = 0; index < text.length; index++) {
    const char = text[index]
    if (char === '(' || char === '{' || char === '[') depth++
    else if ((char === ')' || char === '}' || char === ']') && depth > 0) depth--
    else if (char === '\n') hereDocuments = 0
    else if (char === '<' && text[index + 1] === '<') hereDocuments++
    if (depth > MAX_NESTING || hereDocuments > MAX_HERE_DOCUMENTS_PER_LINE) return true
  }
  return false
}

/**
 * Text that can give a variable a value with a subscript: arithmetic on that variable executes the substitutions in the
 * subscript (arithmetic injection).
 */
const COMPUTED_VALUE = /[[\\`]|\$\((?!\()|\b(read|mapfile|readarray)\b/

interface Reader {
  line: ShellLine
  /** Commands whose output is piped into the next command. */
  piped: Set<SyntaxNode>
  /** The line has arithmetic on variables. */
  evaluatesNames: boolean
}

/** Visits all nodes in source order, with a stack of its own: a long chain of operators is a deep tree. */
function readTree(reader: Reader, script: ParsedScript): void {
  const stack: SyntaxNode[] = [script]
  for (let node = stack.pop(); node; node = stack.pop()) {
    readNode(reader, node)
    const children: SyntaxNode[] = []
    forEachChild(node, (child) => void children.push(child))
    stack.push(...children.reverse())
  }
}

/** Nodes that an allow rule does not look into, and the reason. */
const UNSUPPORTED: Readonly<Partial<Record<SyntaxNode['type'], string>>> = {
  Subshell: 'it contains parentheses',
  ArrayValue: 'it contains parentheses',
  BraceGroup: 'it contains a group in braces',
  Function: 'it defines a function',
  If: 'it contains a compound command',
  For: 'it contains a compound command',
  ArithmeticFor: 'it contains a compound command',
  Select: 'it contains a compound command',
  While: 'it contains a compound command',
  Case: 'it contains a compound command',
  Redirected: 'it contains a compound command',
  TestCommand: 'it contains a compound command',
  ArithmeticCommand: 'it contains arithmetic',
  ArithmeticExpansion: 'it contains arithmetic',
  Coproc: 'it starts a coprocess',
  CommandExpansion: 'it contains a substitution',
  ArithmeticCommandExpansion: 'it contains a substitution',
  ProcessSubstitution: 'it contains a substitution',
  AnsiCQuoted: "it contains quotes of the form $'…'",
  ExtendedGlob: 'it contains an extended glob',
  HereDoc: 'it contains a here-document',
  FileDescriptorVariable: 'it contains a file descriptor variable',
}

function readNode(reader: Reader, node: SyntaxNode): void {
  const { line, piped } = reader
  const reason = UNSUPPORTED[node.type]
  if (reason !== undefined) line.unsupportedSyntax ??= reason
  if (isUnreadable(node)) line.fullyParsed = false
  if (evaluatesName(node) || assignsInteger(node)) reader.evaluatesNames = true
  if (node.type === 'ParameterExpansion' && (node.operation ?? node.index ?? node.prefix) !== undefined)
    line.unsupportedSyntax ??= 'it contains a parameter expansion in braces'
  if (node.type === 'Pipeline') for (const command of node.commands.slice(0, -1)) piped.add(command)
  if (node.type === 'Command') line.commands.push(toShellCommand(node, piped.has(node)))
  // The redirections of a compound command; those of a simple command are read with it.
  if (node.type === 'Redirected') line.commands.push({ words: [], ...splitRedirections(node.redirects), piped: false })
}

/** Whether the commands in this node are not all visible, or bash may read it in another way. */
function isUnreadable(node: SyntaxNode): boolean {
  if (node.type === 'Script') return (node as ParsedScript).errors !== undefined
  if (node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') return node.script === undefined
  if (node.type === 'ArithmeticCommandExpansion') return node.script === undefined
  if (node.type === 'ArithmeticExpansion' || node.type === 'ArithmeticCommand') return node.expression === undefined
  if (node.type === 'HereDoc')
    return (
      node.closing === undefined ||
      node.delimiter === undefined ||
      (!node.delimiter.quoted && hasQuotedExpansion(node.body.text))
    )
  // Without the option `extglob`, `!(rm x)` runs `rm`.
  if (node.type === 'ExtendedGlob') return true
  if (node.type === 'TestUnary') return node.operator === '-v' && !/^\w*$/.test(node.operand.text)
  // `${!x}` and `${x@P}` evaluate the value of a variable.
  if (node.type !== 'ParameterExpansion') return false
  const operation = node.operation?.type
  return node.prefix === '!' || operation === 'Transform' || operation === 'Unknown'
}

/** In a here-document, quotes in `${x:-'$(rm y)'}` are text: the substitution is executed, and the parser does not see it. */
function hasQuotedExpansion(body: string): boolean {
  return body.includes('${') && body.includes("'") && /\$\(|`/.test(body)
}

/** Whether the node is arithmetic on a variable, whose value may contain anything. */
function evaluatesName(node: SyntaxNode): boolean {
  if (node.type === 'ArithmeticWord') return !/^\d*$/.test(node.value)
  if (node.type === 'TestBinary')
    return /^-(eq|ne|lt|le|gt|ge)$/.test(node.operator) && !areNumbers(node.left, node.right)
  if (node.type === 'Assignment') return node.index !== undefined && !areNumbers(node.index)
  if (node.type !== 'ParameterExpansion') return false
  const { index, operation } = node
  if (index !== undefined && !/^(\d+|[@*])$/.test(index.text)) return true
  return operation?.type === 'Slice' && !areNumbers(operation.offset, operation.length)
}

/** Variables to which any assignment is arithmetic. */
const INTEGER_VARIABLE = /^(S?RANDOM|OPTIND|HISTCMD|SECONDS|LINENO|BASHPID|PPID|E?UID|EPOCHSECONDS)(\W|$)/

function assignsInteger(node: SyntaxNode): boolean {
  if (node.type === 'Assignment') return INTEGER_VARIABLE.test(node.name ?? '')
  if (node.type === 'For' || node.type === 'Select') return INTEGER_VARIABLE.test(node.name.text)
  // `read RANDOM`, `declare RANDOM=…`
  return node.type === 'Word' && INTEGER_VARIABLE.test(toShellWord(node).text)
}

function areNumbers(...words: (Word | undefined)[]): boolean {
  return words.every((word) => word === undefined || /^\s*-?\d+$/.test(word.text))
}

function toShellCommand({ prefix, name, suffix }: Command, piped: boolean): ShellCommand {
  const words: ShellWord[] = []
  const redirections: ParsedRedirection[] = []
  for (const part of [...prefix, ...(name ? [name] : []), ...suffix]) {
    if (part.type === 'Word') words.push(toShellWord(part))
    else if (part.type === 'Assignment') words.push(toAssignmentWord(part))
    else redirections.push(part)
  }
  return { words, ...splitRedirections(redirections), piped }
}

function splitRedirections(all: readonly ParsedRedirection[]): Pick<ShellCommand, 'redirections' | 'stdin'> {
  const redirections: Redirection[] = []
  const stdin: string[] = []
  for (const part of all) {
    if (part.type === 'HereDoc') stdin.push(part.body.text)
    else redirections.push({ operator: part.operator, target: part.target ? toShellWord(part.target) : UNKNOWN_WORD })
  }
  return { redirections, stdin }
}

/** `NAME=value`; the elements of an array are joined, so that a rule sees the commands they mention. */
function toAssignmentWord({ name, append, index, value }: Assignment): ShellWord {
  const values = value.type === 'ArrayValue' ? value.elements.map(toShellWord) : [toShellWord(value)]
  const subscript = index ? `[${index.text}]` : ''
  const text = `${name}${subscript}${append ? '+=' : '='}${values.map((word) => word.text).join(' ')}`
  return { text, opaque: value.type === 'ArrayValue' || values.some(({ opaque }) => opaque) }
}

function toShellWord({ text, value, parts }: Word): ShellWord {
  // A tilde also stands for a folder after the `=` or `:` of an assignment.
  const hasTilde = /(^|[=:])~/.test(text)
  if (parts === undefined) return { text: value, opaque: hasTilde || mayHaveBraceList(text) }
  const hasBraces = mayHaveBraceList(text)
  const opaque = hasTilde || parts.some((part) => isExpansion(part) || (hasBraces && isBrace(part)))
  return { text: parts.map(partText).join(''), opaque }
}

/** Whether bash may expand braces in the word, also where the parser has found no expansion. */
function mayHaveBraceList(text: string): boolean {
  const brace = text.search(/(?<!\\)\{/)
  return brace !== -1 && (text.lastIndexOf(',') > brace || text.lastIndexOf('..') > brace)
}

function isBrace(part: WordPart): boolean {
  return part.type === 'Literal' && part.value.includes('{')
}

function partText(part: WordPart): string {
  if (part.type === 'DoubleQuoted' || part.type === 'LocaleString')
    return part.parts.map((child) => (child.type === 'Literal' ? child.value : child.text)).join('')
  return part.type === 'Literal' || part.type === 'SingleQuoted' || part.type === 'AnsiCQuoted' ? part.value : part.text
}

function isExpansion(part: WordPart): boolean {
  if (part.type === 'DoubleQuoted') return part.parts.some(({ type }) => type !== 'Literal')
  // Escapes depend on the locale, and a translation on message files.
  if (part.type === 'AnsiCQuoted') return part.text.includes('\\')
  return part.type !== 'Literal' && part.type !== 'SingleQuoted'
}
