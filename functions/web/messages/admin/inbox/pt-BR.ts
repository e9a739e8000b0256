import { counter } from "../../plural.ts";
import type { InboxMessages } from "./en.ts";

const count = counter("pt-BR");

export const ptBR: InboxMessages = {
  title: "Caixa de entrada",
  state: "Estado",
  states: {
    pending: "Aguardando",
    rejected: "Rejeitados",
    spam: "Spam",
  },
  kind: "Tipo",
  kinds: {
    all: "Tudo",
    submission: "Contribuições",
    comment: "Comentários",
  },
  count: count({ one: "# item", other: "# itens" }),
  emptyTitle: "Nada aguarda você",
  emptyText: "Novas contribuições e comentários que precisam de aprovação aparecem aqui sozinhos.",
  noneTitle: "Nada aqui",
  choose: "Escolher",
  bulk: "Selecionar tudo",
  commentOn: "Comentário em",
  trusted: "Autor confiável",
  untrusted: "Ainda não confiável",
  actions: {
    approve: "Aprovar",
    reject: "Rejeitar",
    spam: "Spam",
  },
  more: "Confiança e motivo",
  trust: "O que este autor publicar não precisará mais de aprovação (ao aprovar)",
  reason: "Motivo, somente para a trilha de auditoria",
  undo: "Desfazer",
  keysOn: "Atalhos de teclado",
  shortcuts: {
    next: "próximo",
    previous: "anterior",
    approve: "aprovar",
    reject: "rejeitar",
    spam: "marcar como spam",
    choose: "escolher",
    undo: "desfazer",
  },
  done: {
    approve: count({ one: "# aprovado.", other: "# aprovados." }),
    reject: count({ one: "# rejeitado.", other: "# rejeitados." }),
    spam: count({ one: "# marcado como spam.", other: "# marcados como spam." }),
    reopen: count({ one: "# aguarda novamente.", other: "# aguardam novamente." }),
  },
  changed: count({
    one: "# texto foi alterado depois que você o leu. Leia abaixo a versão atual e decida de novo.",
    other: "# textos foram alterados depois que você os leu. Leia abaixo as versões atuais e decida de novo.",
  }),
  failed: count({
    one: "# não pôde ser decidido: não existe mais, ou aquilo a que responde não foi aprovado.",
    other: "# não puderam ser decididos: não existem mais, ou aquilo a que respondem não foi aprovado.",
  }),
  succeeded: count({ one: "# outro foi decidido.", other: "# outros foram decididos." }),
  decided: {
    approved: "Outra pessoa acabou de aprovar.",
    rejected: "Outra pessoa acabou de rejeitar.",
    spam: "Outra pessoa acabou de marcar como spam.",
    pending: "Outra pessoa acabou de recolocar em espera.",
  },
};
