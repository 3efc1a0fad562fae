import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

interface Violation {
  id: string
  impact: string
  nodes: { html: string; failureSummary: string }[]
}

/** The serious and critical issues that axe finds on a page. */
export async function seriousIssues(page: Page): Promise<string[]> {
  const violations = await violationsOf(page, `{ resultTypes: ['violations'] }`)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 120)}`)
}

/** Texts with less contrast than 7:1 (large ones: 4.5:1). */
export async function lowContrastTexts(page: Page): Promise<string[]> {
  const rule = `{ runOnly: ['color-contrast-enhanced'], rules: { 'color-contrast-enhanced': { enabled: true } } }`
  const violations = await violationsOf(page, rule)
  return violations.flatMap(({ nodes }) =>
    nodes.map(({ html, failureSummary }) => `${/contrast of [\d.]+/.exec(failureSummary)}: ${html.slice(0, 120)}`),
  )
}

async function violationsOf(page: Page, options: string): Promise<Violation[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const found = await page.evaluate(`axe.run(document, ${options})`)
  return (found as { violations: Violation[] }).violations
}
