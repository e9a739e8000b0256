import type { Source } from "../entries.ts";

export const ptBR: Source = {
  values: [
    [
      3,
      `amo amei amando ador* excelent* perfeit* maravilh* incrivel* fantastic* sensacional* otim* espetacular* impecavel* show show_de_bola nota_dez nota_10 nota_mil top topissimo demais_da_conta melhor_app melhor_aplicativo o_melhor a_melhor arras* genial* magnific* excepcional*
      super*_minhas_expectativas super*_as_expectativas superou_expectativas acima_do_esperado indispensavel* imprescindivel* nao_vivo_sem nao_troco nao_troco_por arretado massa uma_delicia sem_defeitos`,
    ],
    [
      2,
      `bom boa bons boas bem gost* recomend* indico indicar facil facilima* facilit* facilmente simples_de intuitiv* rapid* rapidinho agil ageis fluid* pratic* util uteis confiavel* estavel* clar* limp* bonit* lind* eleg* eficient* eficaz* satisfeit* satisfat* content* feliz felizes obrigad* valeu
      parabens parabeniz* melhor melhora melhorou melhorias melhoria melhores melhorando funciona_bem funciona_muito_bem funciona_perfeit* funciona_direitinho resolv* resolvid* ajud* atencios* educad* prestativ* economiz* poup* agiliza* finalmente enfim vale_a_pena vale_muito_a_pena vale_cada nada_mal nao_e_ruim
      sem_problema* nenhum_problema zero_problema* nunca_tive_problema* nunca_deu_problema nunca_me_deixou_na_mao nunca_deixou_na_mao sem_reclama* nao_tenho_do_que_reclamar surpreend* legal bacana confort* agradavel* divertid* complet* profission* segur* confianca cumpre_o_que_promete entrega_o_que_promete de_primeira na_hora curti curto muito_bom
      nao_trava nao_da_problema nao_deu_problema mandou_bem mandaram_bem caprich* acert* impression* sucesso`,
    ],
    [
      1,
      `modern* barat* em_conta interessant* promissor* flexivel* leve organizad* razoavelmente_bom acessivel* honest* justo justa`,
    ],
    [
      0,
      `nada_de_mais nada_demais razoavel normal mais_ou_menos nem_bom_nem_ruim nem_bem_nem_mal tanto_faz na_media mediano mediana da_pro_gasto cumpre_seu_papel cumpre_o_papel bom_dia boa_tarde boa_noite obrigado_desde_ja gostaria gostaria_de gostariamos depende_do_dia tem_dia as_vezes_funciona as_vezes_bem
      mensagem_de_erro se_bem_que alem_bem sem_opiniao indiferent* ok legalmente bem_como`,
    ],
    [
      -1,
      `caro cara caros caras carinho_de custos* limitad* complicad* complex* dificil dificeis incomod* pesad* ultrapassad* antiquad* falta faltam faltou faltando incomplet* infelizmente pena demor* esper* esperando confus* escondid* poluid* deixa_a_desejar a_desejar poderia_ser_melhor esperava_mais muitos_cliques burocratic*`,
    ],
    [
      -2,
      `mal mau ma ruim ruins pior piores piorou piorar lent* lentidao erro erros bug bugs bugad* problem* falha falhas falhou falham trava travam travou travando trav* quebr* defeito* inutil* inutilizavel* chat* irrit* frustr* decepcion* decepcao desapont* insatisf* cansei cansad* cans* raiva aborrec* insuport* fecha_sozinho fecha_do_nada
      fecha_sozinha nao_funciona nao_funcionam nao_abre nao_carrega nao_responde nao_respondem ninguem_responde ninguem_respond* sem_resposta nenhuma_resposta nao_consigo nao_encontr* nao_acho nao_entendo nao_serve nao_presta nao_chega nao_chegam nao_da_para_usar impossivel* perdi perdeu perder perdemos sumiu sumiram sumir apag* cobr*_duas_vezes cobr*_em_dobro
      cobr*_a_mais cobranca_indevida cancel* reembols* estorno dinheiro_jogado perda_de_tempo perda_de_dinheiro nao_vale_a_pena nao_vale desperdic* muito_caro caro_demais demais_de_lent* cai_toda_hora cai_o_tempo caiu instavel* desorganizad* baguncad* bagunca reclam* mal_educad* mal_feit* feio feia dor_de_cabeca desist* ilegivel* complicadissim* desagradavel* inaceitavel* nada_funciona
      deix*_na_mao parou_de_funcionar parou_de`,
    ],
    [
      -3,
      `odi* odei* horriv* pessim* terriv* lixo porcaria merda bosta absurdo absurda vergonh* golpe fraude roubo enganac* desastr* desrespeito descaso ridicul* patetic* fuja nunca_mais uma_piada o_pior a_pior pesadelo nojo revolt* lamentavel*`,
    ],
  ],
  negations: "nao nem nunca jamais sem nenhum nenhuma ninguem nada tampouco n menos pouco",
  stronger:
    "muito muita super demais tao bem_mais realmente totalmente completamente extremamente mega sempre toda_vez toda_hora bastante absurdamente mto hiper",
  weaker: "um_pouco meio levemente as_vezes quase relativamente um_tanto",
  contrasts: "mas porem contudo entretanto todavia so_que embora infelizmente apesar exceto",
  wishes: `por_favor gostaria gostariamos seria poderia poderiam da_para teria_como tem_como e_possivel sugiro sugest* sugerir adicionar adicionem acrescent* incluir deveria deveriam queria quero_saber como_faco como_posso precis* bem_que_podia podiam tomara`,
  reach: { before: 4, behind: 0 },
};
