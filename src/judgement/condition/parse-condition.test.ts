import { describe, expect, test } from 'vitest'
import type { ConditionNames, ConditionNode, Operand } from './condition-tree.ts'
import { conditionLeaves } from './condition-tree.ts'
import { parseCondition } from './parse-condition.ts'
import { systemVariables } from './system-variables.ts'

const names: ConditionNames = {
  agents: ['writer', 'research', 'code-reviewer', 'Fact Checker', 'writer_a', 'übersetzer'],
  groups: ['panel'],
  variables: ['approved', 'source_count', 'min_sources'],
}

function parseTree(text: string): ConditionNode {
  const result = parseCondition(text, names)
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('; '))
  return result.tree
}

/** A tree on one line: sentences in brackets, facts with a question mark, comparisons with their operands. */
function formatTree(node: ConditionNode): string {
  if ('parts' in node) return `(${node.parts.map(formatTree).join(` ${node.kind} `)})`
  if ('part' in node) return `not ${formatTree(node.part)}`
  if (node.kind === 'semantic') return `[${node.text}]`
  if (node.kind === 'fact') return `${node.variable}?`
  return node.kind === 'constant'
    ? `${node.value}!`
    : `${formatOperand(node.left)}${node.op}${formatOperand(node.right)}`
}

function formatOperand(operand: Operand): string {
  if ('literal' in operand) return JSON.stringify(operand.literal)
  return operand.templated ? `{${operand.variable}}` : operand.variable
}

describe('CN1 precedence', () => {
  test.each([
    ['a', '[a]'],
    ['a and b', '([a] and [b])'],
    ['a or b', '([a] or [b])'],
    ['a and b and c', '([a] and [b] and [c])'],
    ['a or b or c', '([a] or [b] or [c])'],
    ['a or b and c', '([a] or ([b] and [c]))'],
    ['a and b or c', '(([a] and [b]) or [c])'],
    ['a and b or c and d', '(([a] and [b]) or ([c] and [d]))'],
    ['(a or b) and c', '(([a] or [b]) and [c])'],
    ['a and (b or c)', '([a] and ([b] or [c]))'],
    ['not a', 'not [a]'],
    ['not a and b', '(not [a] and [b])'],
    ['not a or b', '(not [a] or [b])'],
    ['not (a and b)', 'not ([a] and [b])'],
    ['a and not b', '([a] and not [b])'],
    ['a or not b and c', '([a] or (not [b] and [c]))'],
    ['not not a', 'not not [a]'],
    ['not not not a', 'not not not [a]'],
    ['not x == 3', 'not x==3'],
    ['not x == 3 and y < 2', '(not x==3 and y<2)'],
    ['A AND B', '([A] and [B])'],
    ['a Or b', '([a] or [b])'],
    ['NOT a', 'not [a]'],
    ['not(a)', 'not [a]'],
    ['a and(b)', '([a] and [b])'],
    ['(a)and(b)', '([a] and [b])'],
    ['((a))', '[a]'],
    ['((a and (b)))', '([a] and [b])'],
    ['(((a or b) and c) or d)', '((([a] or [b]) and [c]) or [d])'],
    ['(a and b) and c', '(([a] and [b]) and [c])'],
    ['a\n  and b', '([a] and [b])'],
    ['\ta\tor\tb ', '([a] or [b])'],
    ['a, and b', '([a] and [b])'],
    ['a and, b; or c.', '(([a] and [b]) or [c])'],
  ])('CN1 %j is parsed as %s', (text, expected) => {
    expect(formatTree(parseTree(text))).toBe(expected)
  })
})

describe('CN2 sentences', () => {
  test.each([
    ['draft is complete', '[draft is complete]'],
    ['draft is complete and ready for review', '([draft is complete] and [ready for review])'],
    ['the draft is not final', '[the draft is not final]'],
    ['nothing is left to do', '[nothing is left to do]'],
    ['android oracle notes', '[android oracle notes]'],
    ['"salt and pepper"', '[salt and pepper]'],
    ["'salt and pepper'", '[salt and pepper]'],
    ['“salt and pepper”', '[salt and pepper]'],
    ['„Salz or Pfeffer“', '[Salz or Pfeffer]'],
    ['«sel and poivre»', '[sel and poivre]'],
    ['"(x > 3) && y"', '[(x > 3) && y]'],
    ['"true"', '[true]'],
    ['"error detected"', '[error detected]'],
    ['not "this or that"', 'not [this or that]'],
    ['it says "yes or no" twice', '[it says "yes or no" twice]'],
    ['"she said \\"no\\" and left"', '[she said "no" and left]'],
    ['"a backslash \\\\ stays"', '[a backslash \\ stays]'],
    ["the user's request isn't clear", "[the user's request isn't clear]"],
    ["the writers' draft and its title", "([the writers' draft] and [its title])"],
    ["{{ writer_name }}'s draft is ready", "[{{ writer_name }}'s draft is ready]"],
    ['done!', '[done!]'],
    ['is it done?', '[is it done?]'],
    ['R&D agrees', '[R&D agrees]'],
    ['a | b', '[a | b]'],
    ['one   two\n three', '[one two three]'],
    ['报告已完成', '[报告已完成]'],
    ['отчёт готов and 报告 完成', '([отчёт готов] and [报告 完成])'],
    ['l’équipe est prête or 🎉 fini', '([l’équipe est prête] or [🎉 fini])'],
    ['draft\u00a0is ready', '[draft is ready]'],
    ['wait ... and see', '([wait] and [see])'],
    ['use { braces } freely', '[use { braces } freely]'],
    ['no errors found', '[no errors found]'],
    ['at least 3 sources', '[at least 3 sources]'],
  ])('CN2 %j is parsed as %s', (text, expected) => {
    expect(formatTree(parseTree(text))).toBe(expected)
  })
})

describe('CN3 single words', () => {
  test.each([
    ['approved', 'approved?'],
    ['Approved', '[Approved]'],
    ['finished', '[finished]'],
    ['requirements_complete', 'requirements_complete?'],
    ['not quality_ok', 'not quality_ok?'],
    ['größe_ok', 'größe_ok?'],
    ['quality_ok, and finished', '(quality_ok? and [finished])'],
    ['{{ approved }}', 'approved?'],
    ['{{whatever}}', 'whatever?'],
    ['true', 'true!'],
    ['FALSE or True', '(false! or true!)'],
    ['well-written', '[well-written]'],
    ['snake_case?', '[snake_case?]'],
    ['writer', '[writer]'],
  ])('CN3 %j is parsed as %s', (text, expected) => {
    expect(formatTree(parseTree(text))).toBe(expected)
  })
})

describe('CN4 system variables', () => {
  test.each([
    ['writer complete', 'writer_complete?'],
    ['writer is complete', 'writer_complete?'],
    ['Writer is complete', 'writer_complete?'],
    ['writer_complete', 'writer_complete?'],
    ['panel complete', 'panel_complete?'],
    ['research is not complete', 'not research_complete?'],
    ['research not complete', 'not research_complete?'],
    ['not research complete', 'not research_complete?'],
    ['not research is not complete', 'not not research_complete?'],
    ['code-reviewer complete', 'code-reviewer_complete?'],
    ['code reviewer is complete', 'code-reviewer_complete?'],
    ['fact checker complete', 'Fact Checker_complete?'],
    ['fact_checker_load < 2', 'Fact Checker_load<2'],
    ['writer a complete', 'writer_a_complete?'],
    ['übersetzer complete', 'übersetzer_complete?'],
    ['error detected', 'error_detected?'],
    ['error is detected', 'error_detected?'],
    ['Error Detected', 'error_detected?'],
    ['error_detected or quality issues found', '(error_detected? or [quality issues found])'],
    ['round', 'round?'],
    ['{{ error_detected }}', 'error_detected?'],
    ['draft complete', '[draft complete]'],
    ['research batch complete', '[research batch complete]'],
    ['the writer is complete', '[the writer is complete]'],
    ['panel_load < 3', 'panel_load<3'],
    ['complete', '[complete]'],
    ['is complete', '[is complete]'],
  ])('CN4 %j is parsed as %s', (text, expected) => {
    expect(formatTree(parseTree(text))).toBe(expected)
  })

  test('CN4 the system variables are a closed list with their types', () => {
    expect(Object.fromEntries(systemVariables({ agents: ['a', 'b-c'], groups: ['g'] }))).toEqual({
      a_load: 'number',
      'b-c_load': 'number',
      a_complete: 'boolean',
      'b-c_complete': 'boolean',
      g_complete: 'boolean',
      iteration_count: 'number',
      revision_count: 'number',
      round: 'number',
      last_agent: 'string',
      error_detected: 'boolean',
    })
  })

  test('CN4 a variable of the team takes precedence over a spelling of a system variable', () => {
    const own = { ...names, variables: ['fact_checker_load'] }
    expect(parseCondition('fact_checker_load < 2', own)).toMatchObject({
      tree: { left: { variable: 'fact_checker_load' } },
    })
  })

  test('CN4 when two agent names differ only in a hyphen, the exact spelling takes precedence', () => {
    const alike = { agents: ['a-b', 'a_b'], groups: [], variables: [] }
    expect(parseCondition('a_b complete', alike)).toMatchObject({ tree: { variable: 'a_b_complete' } })
    expect(parseCondition('a-b complete', alike)).toMatchObject({ tree: { variable: 'a-b_complete' } })
  })
})

describe('CN5 comparisons', () => {
  test.each([
    ['source_count >= 5', 'source_count>=5'],
    ['source_count>=5', 'source_count>=5'],
    ['5 <= source_count', '5<=source_count'],
    ['source_count >= {{ min_sources }}', 'source_count>={min_sources}'],
    ['{{source_count}}<{{min_sources}}', '{source_count}<{min_sources}'],
    ['x == -1', 'x==-1'],
    ['x==-1', 'x==-1'],
    ['x > .5', 'x>0.5'],
    ['x < 1.5e3', 'x<1500'],
    ['x < +2', 'x<2'],
    ['x != 3.', 'x!=3'],
    ['status == "done"', 'status=="done"'],
    ["status != 'to do'", 'status!="to do"'],
    ['status == "a and b"', 'status=="a and b"'],
    ['status == ""', 'status==""'],
    ['status == "5"', 'status=="5"'],
    ['approved == True', 'approved==true'],
    ['approved != false', 'approved!=false'],
    ['last_agent == "writer"', 'last_agent=="writer"'],
    ['writer_load < writer_a_load', 'writer_load<writer_a_load'],
    ['code-reviewer_load < 2', 'code-reviewer_load<2'],
    ['Iteration_Count < 3', 'iteration_count<3'],
    ['größe > 3', 'größe>3'],
    ['数量 > 3', '数量>3'],
    ['score.quality > 3', 'score.quality>3'],
    ['x > 3, and y < 2.', '(x>3 and y<2)'],
    ['status == "done", or ready', '(status=="done" or [ready])'],
    ['1 == 1', '1==1'],
  ])('CN5 %j is parsed as %s', (text, expected) => {
    expect(formatTree(parseTree(text))).toBe(expected)
  })

  test('CN5 conditionLeaves lists the leaves from left to right with their source text', () => {
    const tree = parseTree('not (writer  complete or x>=3) and "ready, set and go" and {{ approved }}')
    expect(conditionLeaves(tree).map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      'fact: writer complete',
      'compare: x>=3',
      'semantic: ready, set and go',
      'fact: {{ approved }}',
    ])
  })

  test('CN7 a sentence lists its variables, each once', () => {
    expect(parseTree('{{ a }} beats {{b}} and "over {{ c }} or {{ c }}"')).toMatchObject({
      parts: [{ variables: ['a', 'b'] }, { text: 'over {{ c }} or {{ c }}', variables: ['c'] }],
    })
  })
})
