import { describe, expect, test } from 'vitest'
import type { ConditionNames, ConditionNode, VariableValue } from './condition-tree.ts'
import { conditionLeaves } from './condition-tree.ts'
import { evaluateCondition } from './evaluate-condition.ts'
import { parseCondition } from './parse-condition.ts'

/* The conditions in the specification of teams, with their leaves and values that make them true and false. */

const names: ConditionNames = {
  agents: ['researcher', 'writer', 'reviewer', 'publisher', 'error_handler', 'writer_a', 'writer_b'],
  groups: ['research_a', 'research_b'],
  variables: ['source_count', 'min_sources', 'requirements_complete', 'word_count', 'min_words', 'quality_score'],
}

type State = Record<string, VariableValue>
interface Case {
  text: string
  leaves: string[]
  /** Variables that make it true or false while all sentences are true; absent when only the sentences decide. */
  holds?: State
  fails?: State
}

const sentence = (text: string): Case => ({ text, leaves: [text] })
const sentences = (text: string): Case => ({ text, leaves: text.split(' and ') })

const cases: Case[] = [
  sentences('draft is complete and ready for review'),
  sentences('feedback has been provided and revisions are needed'),
  sentence('content is approved for publication'),
  sentence('research is complete'),
  sentence('draft is finished'),
  sentence('review is done'),
  sentence('content meets quality standards'),
  sentence('all requirements are satisfied'),
  sentence('no errors found'),
  {
    text: 'research batch complete and source_count >= {{ min_sources }}',
    leaves: ['research batch complete', 'compare source_count >= {{ min_sources }}'],
    holds: { source_count: 5, min_sources: 5 },
    fails: { source_count: 4, min_sources: 5 },
  },
  {
    text: 'confidence_score > {{ threshold }} and ready for review',
    leaves: ['compare confidence_score > {{ threshold }}', 'ready for review'],
    holds: { confidence_score: 0.81, threshold: 0.8 },
    fails: { confidence_score: 0.8, threshold: 0.8 },
  },
  {
    text: 'iteration_count < {{ max_iterations }} and needs revision',
    leaves: ['compare iteration_count < {{ max_iterations }}', 'needs revision'],
    holds: { iteration_count: 2, max_iterations: 3 },
    fails: { iteration_count: 3, max_iterations: 3 },
  },
  {
    text: 'draft complete and word_count >= {{ min_words }} and all sections included',
    leaves: ['draft complete', 'compare word_count >= {{ min_words }}', 'all sections included'],
    holds: { word_count: 500, min_words: 500 },
    fails: { word_count: 499, min_words: 500 },
  },
  {
    text: 'research complete and source_count >= {{ min_sources }}',
    leaves: ['research complete', 'compare source_count >= {{ min_sources }}'],
    holds: { source_count: 9, min_sources: 5 },
    fails: { source_count: 0, min_sources: 5 },
  },
  sentence('research phase needed'),
  sentences('raw data collected and needs analysis'),
  sentences('analysis complete and insights ready'),
  sentence('draft complete'),
  sentence('revisions needed'),
  sentence('content approved'),
  sentence('analysis shows simple topic'),
  sentence('analysis shows complex topic requiring expertise'),
  sentence('insufficient data for analysis'),
  {
    text: 'draft complete and word_count >= {{ min_words }}',
    leaves: ['draft complete', 'compare word_count >= {{ min_words }}'],
    holds: { word_count: 501, min_words: 500 },
    fails: { word_count: -1, min_words: 500 },
  },
  {
    text: 'quality_score < {{ min_quality }} and revision_count < {{ max_revisions }}',
    leaves: ['compare quality_score < {{ min_quality }}', 'compare revision_count < {{ max_revisions }}'],
    holds: { quality_score: 6, min_quality: 7, revision_count: 0, max_revisions: 2 },
    fails: { quality_score: 6, min_quality: 7, revision_count: 2, max_revisions: 2 },
  },
  {
    text: 'quality_score >= {{ min_quality }}',
    leaves: ['compare quality_score >= {{ min_quality }}'],
    holds: { quality_score: 7, min_quality: 7 },
    fails: { quality_score: 6.9, min_quality: 7 },
  },
  {
    text: 'writing needed and writer_a_load < writer_b_load',
    leaves: ['writing needed', 'compare writer_a_load < writer_b_load'],
    holds: { writer_a_load: 0, writer_b_load: 1 },
    fails: { writer_a_load: 1, writer_b_load: 1 },
  },
  {
    text: 'writing needed and writer_b_load <= writer_a_load',
    leaves: ['writing needed', 'compare writer_b_load <= writer_a_load'],
    holds: { writer_a_load: 1, writer_b_load: 1 },
    fails: { writer_a_load: 0, writer_b_load: 1 },
  },
  sentence('topic requires technical expertise'),
  sentence('topic requires creative approach'),
  {
    text: 'research_a complete and research_b complete',
    leaves: ['fact research_a_complete', 'fact research_b_complete'],
    holds: { research_a_complete: true, research_b_complete: true },
    fails: { research_a_complete: true, research_b_complete: false },
  },
  {
    text: 'research_b complete and research_a complete',
    leaves: ['fact research_b_complete', 'fact research_a_complete'],
    holds: { research_a_complete: true, research_b_complete: true },
    fails: { research_a_complete: false, research_b_complete: true },
  },
  sentence('requirements complete'),
  {
    text: 'architecture approved and requirements_complete',
    leaves: ['architecture approved', 'fact requirements_complete'],
    holds: { requirements_complete: true },
    fails: { requirements_complete: false },
  },
  { text: 'error detected or quality issues found', leaves: ['fact error_detected', 'quality issues found'] },
  sentences('error resolved and retry possible'),
  sentence('error requires human intervention'),
  sentence('quality issues found'),
  sentence('quality standards met'),
]

function parseTree(text: string): ConditionNode {
  const result = parseCondition(text, names)
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('; '))
  return result.tree
}

describe('CN14 the conditions of the specification', () => {
  test.each(cases)('CN14 "$text" has the leaves $leaves', ({ text, leaves }) => {
    const actual = conditionLeaves(parseTree(text)).map((leaf) => {
      if (leaf.kind === 'fact') return `fact ${leaf.variable}`
      return leaf.kind === 'semantic' ? leaf.text : `${leaf.kind} ${leaf.text}`
    })
    expect(actual).toEqual(leaves)
  })

  test.each(cases)('CN14 "$text" can be true, false and unknown', ({ text, holds, fails }) => {
    const tree = parseTree(text)
    const value = (variables: State, verdict: boolean | undefined) =>
      evaluateCondition(tree, { variables, verdict: () => verdict }).value
    expect(value(holds ?? {}, true)).toBe(true)
    expect(fails ? value(fails, true) : value({ error_detected: false }, false)).toBe(false)
    expect(value({}, undefined)).toBe('unknown')
  })

  test('CN14 when error_detected is true, no verdict on the quality is needed', () => {
    const variables = { error_detected: true }
    const evaluation = evaluateCondition(parseTree('error detected or quality issues found'), {
      variables,
      verdict: () => undefined,
    })
    expect(evaluation).toMatchObject({ value: true, open: [] })
  })

  test('CN14 without a group research_a, "research_a complete" is a sentence', () => {
    const result = parseCondition('research_a complete', { agents: ['researcher_a'], groups: [], variables: [] })
    expect(result).toEqual({ ok: true, tree: { kind: 'semantic', text: 'research_a complete', variables: [] } })
  })
})
