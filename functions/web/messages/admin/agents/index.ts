import { catalogue } from "../catalogue.ts";
import { de } from "./de.ts";
import { en } from "./en.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { it } from "./it.ts";
import { ja } from "./ja.ts";
import { ptBR } from "./pt-BR.ts";
import { ru } from "./ru.ts";

export const agentsMessages = catalogue({ en, es, fr, de, ru, "pt-BR": ptBR, ja, it });
