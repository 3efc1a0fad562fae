import fc from 'fast-check'

/*
 * Random lines for bash. The only programs in them are `p`, `q` and `r`, so that running a line harms nothing where these are
 * stubs. Commands that end the shell's environment (`cd`, `kill`, redirections to other places) do not occur.
 */

const TOKENS = (
  "p q r p \" ' \\ $ ( ) { } ` ; < > # | & $' $( ${ $(( )) ! [ ] [[ ]] * ? ~ = a= if then fi case in esac ;; for do done while " +
  'function f() f eval command time <<< <( >&2 {a,b} , .. @( !( \\x72 : - $x += () % /'
).split(' ')
const BLANKS = [' ', ' ', ' ', '\n', '\t', '\r', '\u00a0', '\u2003', '\\\n', '<<E\n', '<<-E\n', '\nE\n']

/** Any sequence of tokens, most of which is no valid line. */
export const randomShellText: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...TOKENS, ...BLANKS), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join(''))

const name = fc.constantFrom('p', 'q', 'r', 'p', 'q')
const plainWord = fc.constantFrom(
  ...[
    'p',
    'q',
    'r',
    'x1',
    '-a',
    'r""',
    "'p'",
    "'a;r'",
    "'$(r)'",
    '"a $x"',
    '"a`r`"',
    '"\\$(r)"',
    '"it\'s"',
    '\\r',
    '\\\nr',
  ],
  ...[
    "$'\\x72'",
    "$'r'",
    "$'\\162'",
    "$'a\\'b'",
    "$'r\\0x'",
    '$x',
    '{p,r}',
    '{r}',
    '{a..c}',
    '{"p",q}x',
    '{}',
    '#',
    '~',
    'a=~',
  ],
  ...['*', '[a]', '!', 'a=r', '$((1+2))', '$[1]', '"$(r)"', '`r`', '<(q)', `\${x:-r}`],
)
const redirection = fc.constantFrom(
  ...['>/dev/null', '2>&1', '<<<r', '<<<"$(r)"', '<<E\nr\nE\n', '<<E\n$(r)\nE\n', '<<E\n`r`\nE\n', '<<E\n\\$(r)\nE\n'],
  ...['<<E\nE\\\n\nr\nE\n', "<<E\n'$(r)'\nE\n", "<<'E'\n$(r)\nE\n", '<<-E\n\tr\n\tE\n', '<<"E F"\nr\nE F\n'],
)

type Nodes = Record<'word' | 'simple' | 'command' | 'script', string>

/** Lines that follow the grammar of bash. */
export const randomShellLine: fc.Arbitrary<string> = fc.letrec<Nodes>((tie) => ({
  word: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'shell' },
    plainWord,
    fc.tuple(plainWord, plainWord).map((words) => words.join('')),
    tie('script').map((script) => `$(${script})`),
    tie('script').map((script) => `"$(${script})"`),
    tie('script').map((script) => `<(${script})`),
    tie('word').map((word) => `\${x:-${word}}`),
  ),
  simple: fc
    .tuple(
      fc.constantFrom('', '', '', 'a=1 ', 'a=$(r) ', 'a=(1 2); '),
      fc.oneof({ weight: 6, arbitrary: name }, { weight: 1, arbitrary: plainWord }),
      fc.array(
        fc.tuple(fc.constantFrom(' ', '  ', '\t', ' \\\n'), tie('word')).map((parts) => parts.join('')),
        { maxLength: 2 },
      ),
      fc.oneof(
        { weight: 4, arbitrary: fc.constant('') },
        redirection.map((text) => ` ${text}`),
      ),
    )
    .map(([prefix, program, words, end]) => `${prefix}${program}${words.join('')}${end}`),
  command: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'shell' },
    tie('simple'),
    tie('simple'),
    tie('script').map((script) => `(${script})`),
    tie('script').map((script) => `{ ${script}; }`),
    fc.tuple(tie('script'), tie('script')).map(([test, then]) => `if ${test}; then ${then}; else q; fi`),
    tie('script').map((script) => `for i in 1 2; do ${script}; done`),
    fc
      .tuple(fc.constantFrom('p', '*', '(q', 'p|r', "')'"), tie('script'))
      .map(([pattern, body]) => `case p in ${pattern}) ${body};; *) q;; esac`),
    tie('script').map((script) => `while ${script}; do break; done`),
    tie('script').map((script) => `f() { ${script}; }; f`),
    tie('simple').map((simple) => `! ${simple}`),
    tie('simple').map((simple) => `time ${simple}`),
    tie('word').map((word) => `[[ -n ${word} ]]`),
    tie('simple').map((simple) => `eval '${simple.replaceAll("'", '')}'`),
    tie('simple').map((simple) => `trap '${simple.replaceAll("'", '')}' EXIT`),
    name.map((program) => `command ${program} x`),
    tie('script').map((script) => `((1+$(${script})))`),
    fc.tuple(tie('simple'), tie('simple')).map(([first, comment]) => `${first} # ${comment}`),
  ),
  script: fc
    .tuple(
      tie('command'),
      fc.array(
        fc
          .tuple(fc.constantFrom(' && ', ' || ', '; ', '\n', ' | ', ' & ', ';'), tie('command'))
          .map((parts) => parts.join('')),
        { maxLength: 2 },
      ),
    )
    .map(([first, others]) => [first, ...others].join('')),
})).script
