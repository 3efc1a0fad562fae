// `npm run prices`: writes src/models/prices.json. Run it after an update of @pydantic/genai-prices or of prices-by-hand.json.
import { writeFileSync } from 'node:fs'
import { createPriceTable, formatPriceTable } from './price-table.ts'

const table = createPriceTable()
writeFileSync(new URL('../src/models/prices.json', import.meta.url), formatPriceTable(table))
console.log(`${table.prices.length} entries\n${table.note}`)
